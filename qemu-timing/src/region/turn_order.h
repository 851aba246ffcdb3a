// Whose turn it is: the core with the smallest (cycle of its next access, core number). A core that
// waits for memory has no turn until memory says when it goes on; one that waits in a loop has none
// until another core takes the line.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace lockcross {

class TurnOrder {
  public:
    explicit TurnOrder(size_t cores) : next_access_(cores, kGone) {}

    // The core's next access is at that cycle.
    void wait_at(uint32_t core, Cycle cycle) { next_access_[core] = cycle; }
    void wait_for_memory(uint32_t core) {
        next_access_[core] = kWaits;
        waiting_++;
    }
    void go_on_at(uint32_t core, Cycle cycle) {
        next_access_[core] = cycle;
        waiting_--;
    }
    // It has no turn until it waits at a cycle again.
    void wait_in_loop(uint32_t core) { next_access_[core] = kLoops; }
    void leave(uint32_t core) { next_access_[core] = kGone; }

    Cycle next_access(uint32_t core) const { return next_access_[core]; }
    bool has_left(uint32_t core) const { return next_access_[core] == kGone; }
    bool is_in_loop(uint32_t core) const { return next_access_[core] == kLoops; }
    bool all_left() const {
        return std::all_of(next_access_.begin(), next_access_.end(),
                           [](Cycle cycle) { return cycle == kGone; });
    }
    // Whether any core waits for memory.
    bool any_waiting() const { return waiting_ > 0; }

    std::optional<uint32_t> first() const {
        std::optional<uint32_t> best;
        for (uint32_t core = 0; core < next_access_.size(); core++) {
            if (next_access_[core] >= kLoops)
                continue;
            if (!best || next_access_[core] < next_access_[*best])
                best = core;
        }
        return best;
    }

    // The last cycle at which the core may make an access while all others stay where they wait.
    // It is negative when that is not even cycle 0.
    int64_t limit(uint32_t core) const {
        int64_t limit = std::numeric_limits<int64_t>::max();
        for (uint32_t other = 0; other < next_access_.size(); other++) {
            if (other == core || next_access_[other] >= kLoops)
                continue;
            int64_t last = int64_t(next_access_[other]) - (other < core ? 1 : 0);
            if (last < limit)
                limit = last;
        }
        return limit;
    }

  private:
    static constexpr Cycle kGone = std::numeric_limits<Cycle>::max();
    static constexpr Cycle kWaits = kGone - 1;
    static constexpr Cycle kLoops = kGone - 2;
    std::vector<Cycle> next_access_; // of each core
    uint32_t waiting_ = 0;           // cores that wait for memory
};

} // namespace lockcross
