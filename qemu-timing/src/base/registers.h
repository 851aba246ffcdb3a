// Sets of registers, as bits of a word.
#pragma once

#include <bit>
#include <cstdint>

namespace lockcross {

using RegisterSet = uint64_t;

constexpr RegisterSet register_bit(unsigned reg) { return RegisterSet(1) << reg; }

// Calls `each` with the number of every register of the set, the lowest first.
template <typename Each> void for_each_register(RegisterSet set, Each each) {
    for (; set; set &= set - 1)
        each(std::countr_zero(set));
}

} // namespace lockcross
