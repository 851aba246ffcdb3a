// Numbers of cache lines.
#pragma once

#include <cstdint>

namespace lockcross {

using LineId = uint32_t; // counted from the start of the program's image
constexpr LineId kNoLine = UINT32_MAX;

} // namespace lockcross
