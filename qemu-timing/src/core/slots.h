// The slots of a stage that handles micro-operations in order.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstdint>

namespace lockcross {

// The slots of a stage: `width` a cycle, taken in order.
class Slots {
  public:
    // Takes the next slot that is not before `earliest`.
    Cycle take(Cycle earliest, uint32_t width) {
        if (!has_room(earliest, width)) {
            cycle_ = std::max(earliest, cycle_ + 1);
            used_ = 0;
        }
        used_++;
        return cycle_;
    }
    // Whether that slot is in the cycle of the last one.
    bool has_room(Cycle earliest, uint32_t width) const {
        return earliest <= cycle_ && used_ < width;
    }
    // No more slots in this cycle.
    void close() { used_ = UINT32_MAX; }
    Cycle cycle() const { return cycle_; }
    uint32_t used() const { return used_; }
    void start_at(Cycle cycle) { cycle_ = cycle; }

  private:
    Cycle cycle_ = 0;
    uint32_t used_ = 0;
};

} // namespace lockcross
