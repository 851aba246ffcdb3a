// The entries of a scheduler: taken in order and left in any order.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

class SchedulerQueue {
  public:
    explicit SchedulerQueue(uint32_t count) : count_(count), leaving_(kHorizon) {}

    void start_at(Cycle cycle) { now_ = cycle; }

    // Takes an entry: returns the first cycle from `from` on, and from that of the one before on,
    // in which one is free. It has to be left before all can be taken again.
    Cycle take(Cycle from) {
        go_to(from);
        while (used_ >= count_ && used_ > held_)
            go_to(now_ + 1);
        used_++;
        held_++;
        return now_;
    }

    // Those that were taken since are left then. One that is held for longer than kHorizon counts
    // as left after so long.
    void leave(Cycle when) {
        if (when <= now_)
            used_ -= held_;
        else
            leaving_[std::min(when, now_ + kHorizon - 1) % kHorizon] += held_;
        held_ = 0;
    }

  private:
    static constexpr size_t kHorizon = 4096;

    void go_to(Cycle cycle) {
        while (now_ < cycle && used_ != held_) { // else none will leave
            uint16_t &left = leaving_[++now_ % kHorizon];
            used_ -= left;
            left = 0;
        }
        now_ = std::max(now_, cycle);
    }

    uint32_t count_, used_ = 0, held_ = 0; // held: taken, and nobody knows until when
    Cycle now_ = 0;
    std::vector<uint16_t> leaving_; // how many in each of the cycles to come
};

} // namespace lockcross
