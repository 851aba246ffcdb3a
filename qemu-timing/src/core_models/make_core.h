// The core models. A new one derives from Core, and is chosen here by an option.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/core.h"
#include "memory/memory.h"

#include <cstdint>
#include <memory>

namespace lockcross {

// The core that the options ask for.
std::unique_ptr<Core> make_core(const Options &options, uint32_t id, Memory &memory,
                                Counts &counts);

} // namespace lockcross
