// Which core goes next: the one with the smallest (cycle, core number).
#pragma once

#include "base/counts.h"

#include <limits>
#include <optional>
#include <vector>

namespace lockcross {

class Order {
  public:
    explicit Order(size_t cores) : waiting_(cores, kGone) {}

    // The core's next access happens at that cycle.
    void wait_at(uint32_t core, Cycle cycle) { waiting_[core] = cycle; }
    void leave(uint32_t core) { waiting_[core] = kGone; }

    std::optional<uint32_t> first() const {
        std::optional<uint32_t> best;
        for (uint32_t core = 0; core < waiting_.size(); core++) {
            if (waiting_[core] == kGone)
                continue;
            if (!best || waiting_[core] < waiting_[*best])
                best = core;
        }
        return best;
    }

    // The last cycle at which core may make an access while all the others stay where they wait.
    // It may be before cycle 0 for none: then the result is negative.
    int64_t limit(uint32_t core) const {
        int64_t limit = std::numeric_limits<int64_t>::max();
        for (uint32_t other = 0; other < waiting_.size(); other++) {
            if (other == core || waiting_[other] == kGone)
                continue;
            int64_t last = int64_t(waiting_[other]) - (other < core ? 1 : 0);
            if (last < limit)
                limit = last;
        }
        return limit;
    }

  private:
    static constexpr Cycle kGone = std::numeric_limits<Cycle>::max();
    std::vector<Cycle> waiting_;
};

} // namespace lockcross
