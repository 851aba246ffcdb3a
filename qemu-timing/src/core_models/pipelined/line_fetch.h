// The first stage of a pipeline: fetches code by cache lines into a buffer of two, one line at a
// time and one ahead of the line in use.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstdint>

namespace lockcross {

class LineFetch {
  public:
    // line: bytes; latency: cycles from the request of a line to its use.
    LineFetch(uint32_t line, uint32_t latency) : line_(line), latency_(latency) {}

    // Empties the buffer and requests the line of `address`.
    void restart(uint64_t address, Cycle request) {
        current_ = address / line_;
        arrived_ = next_requested_ = request + latency_;
    }

    // When the code up to the byte at `last` is available; now: when the code before it was used.
    Cycle available_at(uint64_t last, Cycle now) {
        while (current_ < last / line_) {
            current_++;
            Cycle left = std::max(now, arrived_);
            arrived_ = next_requested_ + latency_;
            next_requested_ = std::max(arrived_, left);
        }
        return arrived_;
    }

    // The first cycle after `now` in which a line other than the next one can be requested: after
    // the line that is under way, or that is requested because the buffer is emptied.
    Cycle redirected_at(Cycle now) const {
        Cycle free = next_requested_ + latency_;
        return free <= now ? now + latency_ : std::max(now + 1, free);
    }

  private:
    uint32_t line_, latency_;
    uint64_t current_ = 0;                   // number of the line in use
    Cycle arrived_ = 0, next_requested_ = 0; // when it came; when the next was requested
};

} // namespace lockcross
