// Instruments the guest's code while QEMU translates it, and passes what the code then does to the
// vCPU that runs it.
#pragma once

#include "plugin/qemu_plugin_api.h"

namespace lockcross {

// QEMU's callback for each block that it translates.
void on_translation(qemu_plugin_id_t id, qemu_plugin_tb *tb);

} // namespace lockcross
