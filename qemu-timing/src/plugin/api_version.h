// What differs between the versions of QEMU's plugin interface. The version is found out when QEMU
// loads the plugin, so that one plugin serves them all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

struct qemu_plugin_insn;

namespace lockcross {

// The version of the interface that the plugin declares to the QEMU that has loaded it. QEMU
// refuses a plugin that declares a version above its own or below the oldest that it still serves.
int declared_api();

// The newest version whose functions `has` finds.
int declared_api(bool (*has)(const char *function));

// Reads the bytes of an instruction. Up to version 2, qemu_plugin_insn_data returns where they are;
// from version 3 on it copies them.
class InsnReader {
  public:
    using Function = void (*)(); // cast to the type that it has in the version

    // api: the version that QEMU serves; insn_data: its qemu_plugin_insn_data.
    InsnReader(int api, Function insn_data);

    // `size` bytes (16 at most), valid until the next call.
    const uint8_t *bytes(const qemu_plugin_insn *insn, size_t size);

  private:
    static constexpr int kFirstCopying = 3; // version
    static constexpr size_t kLongest = 16;
    bool copies_;
    Function insn_data_;
    std::array<uint8_t, kLongest> copy_{};
};

} // namespace lockcross
