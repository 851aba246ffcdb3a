// A functional unit of a pipeline. What is in it moves on together; while the operation at its end
// cannot leave, nothing in it moves.
#pragma once

#include "base/counts.h"

#include <cstdint>
#include <vector>

namespace lockcross {

class FunctionalUnit {
  public:
    // depth: cycles from issue to the unit's end; interval: cycles between two issues.
    FunctionalUnit(uint32_t depth, uint32_t interval) : depth_(depth), interval_(interval) {}

    // The first cycle, not before `earliest`, in which an operation can issue to it.
    Cycle free_at(Cycle earliest) const;
    // Issues an operation; returns the cycle in which it is at the end.
    Cycle issue(Cycle cycle);
    // The operation issued last leaves the unit.
    void leave(Cycle cycle) { passages_.back().left = cycle; }
    uint32_t depth() const { return depth_; }

  private:
    struct Passage {
        Cycle issued, end, left;
    };
    uint32_t depth_, interval_;
    std::vector<Passage> passages_; // those that can still delay others
};

} // namespace lockcross
