// The first stage of a pipeline: fetches code by cache lines, one at a time and one ahead of the
// line in use, into a buffer of two.
#pragma once

#include "base/counts.h"

#include <algorithm>

namespace lockcross {

class LineFetch {
  public:
    // line: bytes; latency: cycles from the request of a line to its use.
    LineFetch(uint32_t line, uint32_t latency) : line_(line), latency_(latency) {}

    // Drops all and asks for the line of `address`.
    void restart(uint64_t address, Cycle request) {
        current_ = address / line_;
        arrived_ = next_asked_ = request + latency_;
    }

    // When the code up to the byte at `last` is there; `now`: what is before it was used.
    Cycle reach(uint64_t last, Cycle now) {
        while (current_ < last / line_) {
            current_++;
            Cycle left = std::max(now, arrived_);
            arrived_ = next_asked_ + latency_;
            next_asked_ = std::max(arrived_, left);
        }
        return arrived_;
    }

    // The first cycle after `now` in which another line than the next can be asked for. The one
    // under way is in the way, and so is one that is asked for because the buffer is emptied.
    Cycle redirected_at(Cycle now) const {
        Cycle free = next_asked_ + latency_;
        return free <= now ? now + latency_ : std::max(now + 1, free);
    }

  private:
    uint32_t line_, latency_;
    uint64_t current_ = 0;               // number of the line in use
    Cycle arrived_ = 0, next_asked_ = 0; // when it came, and when the one behind it was asked for
};

} // namespace lockcross
