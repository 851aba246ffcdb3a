// When something in the memory system is done: at a cycle that is known, or one that memory will
// know only after simulated time has passed.
#pragma once

#include "base/counts.h"

#include <cstdint>

namespace lockcross {

struct Completion {
    Cycle cycle = 0;     // not before
    uint64_t ticket = 0; // of an answer of the memory's that is still to come; 0: of none
    Cycle after = 0;     // and not before so many cycles after it

    Completion(Cycle cycle = 0) : cycle(cycle) {}
    Completion(uint64_t ticket, Cycle not_before) : cycle(not_before), ticket(ticket) {}

    bool known() const { return ticket == 0; }

    Completion operator+(Cycle cycles) const {
        Completion later = *this;
        later.cycle += cycles;
        later.after += known() ? 0 : cycles;
        return later;
    }
};

} // namespace lockcross
