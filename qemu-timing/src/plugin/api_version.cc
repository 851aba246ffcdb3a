#include "plugin/api_version.h"

#include <algorithm>
#include <dlfcn.h>

namespace lockcross {

int declared_api(bool (*has)(const char *function)) {
    struct {
        int version;
        const char *function; // that came with it
    } constexpr kVersions[] = {
        {5, "qemu_plugin_write_register"},    // in QEMU 10.2
        {4, "qemu_plugin_read_memory_vaddr"}, // in QEMU 10.0
        {2, "qemu_plugin_scoreboard_new"},    // in QEMU 9.0
    };
    for (const auto &[version, function] : kVersions) {
        if (has(function))
            return version;
    }
    return 1; // QEMU 7.2
}

int declared_api() {
    return declared_api([](const char *name) { return dlsym(RTLD_DEFAULT, name) != nullptr; });
}

InsnReader::InsnReader(int api, Function insn_data)
    : copies_(api >= kFirstCopying), insn_data_(insn_data) {}

const uint8_t *InsnReader::bytes(const qemu_plugin_insn *insn, size_t size) {
    if (copies_) {
        using Copy = size_t (*)(const qemu_plugin_insn *, void *, size_t);
        reinterpret_cast<Copy>(insn_data_)(insn, copy_.data(), std::min(size, kLongest));
        return copy_.data();
    }
    using Locate = const void *(*)(const qemu_plugin_insn *);
    return static_cast<const uint8_t *>(reinterpret_cast<Locate>(insn_data_)(insn));
}

} // namespace lockcross
