// A QEMU plugin: a thread that waits in a loop (cpu_relax of lockimpl/arch) gives its CPU up.
//
// QEMU runs every thread of a program as a thread of the host. Where they are more than the host's
// CPUs, or the host has other work, a thread that spins for one that does not run would spin until
// the end of its time slice: nearly all of what such a run costs.
#include "plugin/api_version.h"
#include "plugin/qemu_plugin_api.h"

#include <cstring>
#include <map>
#include <optional>
#include <sched.h>
#include <string_view>

namespace {

// What cpu_relax is, by QEMU's name of the target.
const std::map<std::string_view, std::string_view> kRelax = {
    {"x86_64", "\xf3\x90"},          // pause
    {"aarch64", "\x3f\x20\x03\xd5"}, // yield
    {"ppc64le", "\x78\xdb\x7b\x7f"}, // or 27, 27, 27
};

std::optional<lockcross::InsnReader> reader;
std::string_view relax;

void give_up(unsigned, void *) { sched_yield(); }

void translated(qemu_plugin_id_t, qemu_plugin_tb *tb) {
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        size_t size = qemu_plugin_insn_size(insn);
        if (size == relax.size() && std::memcmp(reader->bytes(insn, size), relax.data(), size) == 0)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, give_up, QEMU_PLUGIN_CB_NO_REGS, nullptr);
    }
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = lockcross::declared_api();

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int, char **) {
    reader.emplace(info->version.cur, qemu_plugin_insn_data);
    relax = kRelax.at(info->target_name);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}

} // extern "C"
