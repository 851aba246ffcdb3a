// The entry points of the plugin.
#include "base/options.h"
#include "isa/decoder.h"
#include "output/failure.h"
#include "plugin/api_version.h"
#include "plugin/engine.h"
#include "plugin/instrumentation.h"
#include "plugin/markers.h"
#include "plugin/qemu_plugin_api.h"
#include "region/vcpu.h"

#include <array>
#include <stdexcept>

namespace lockcross {

// Never destroyed: when the process exits, other threads may still be in callbacks.
Engine &engine = *new Engine;
std::array<Vcpu *, kMaxVcpus> inside_region;

namespace {

void install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    engine.isa = info->target_name;
    try {
        engine.options = parse_options({argv, argv + argc});
        engine.decoder = make_decoder(engine.isa);
    } catch (const OptionError &error) {
        fail(Exit::BadOptions, error.what());
    } catch (const std::runtime_error &error) {
        fail(Exit::Failure, error.what());
    }
    if (!engine.decoder) {
        fail(Exit::BadOptions,
             "QEMU for " + engine.isa + " is not supported; x86_64, ppc64le and aarch64 are");
    }
    engine.insn_reader.emplace(info->version.cur, qemu_plugin_insn_data);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
}

} // namespace

} // namespace lockcross

extern "C" {

// QEMU reads it after the library's constructors have run.
__attribute__((visibility("default"))) int qemu_plugin_version = lockcross::declared_api();

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    lockcross::install(id, info, argc, argv);
    return 0;
}
}
