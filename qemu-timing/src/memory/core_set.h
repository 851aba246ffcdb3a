// Sets of simulated cores.
#pragma once

#include <bitset>
#include <cstdint>

namespace lockcross {

constexpr uint32_t kMaxCores = 128;
using CoreSet = std::bitset<kMaxCores>;

} // namespace lockcross
