// A plugin with the callbacks of the timing plugin and nothing in them: shows what QEMU itself
// costs. `lockcross bench engine` runs it beside the real one.
#include "plugin/api_version.h"
#include "plugin/qemu_plugin_api.h"

#include <cstddef>
#include <cstdint>

namespace {

void on_block(unsigned, void *) {}
void on_access(unsigned, qemu_plugin_meminfo_t, uint64_t, void *) {}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb *tb) {
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, nullptr);
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, nullptr);
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = lockcross::declared_api();

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
                                                               const qemu_info_t *, int, char **) {
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
}
