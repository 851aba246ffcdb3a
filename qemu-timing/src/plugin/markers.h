// The system calls with which the guest marks its region of interest, and more: docs/interfaces.md,
// section 5.
#pragma once

#include "plugin/qemu_plugin_api.h"

#include <cstdint>

namespace lockcross {

// QEMU's callback for each system call.
void on_syscall(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a0, uint64_t a1,
                uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7);

} // namespace lockcross
