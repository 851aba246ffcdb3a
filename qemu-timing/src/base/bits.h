// Sets of registers as bits of a word.
#pragma once

#include <bit>
#include <cstdint>

namespace lockcross {

// Calls `each` with the number of every bit that is set, the lowest first.
template <typename Each> void for_each_bit(uint64_t mask, Each each) {
    for (; mask; mask &= mask - 1)
        each(std::countr_zero(mask));
}

} // namespace lockcross
