// A vCPU whose thread parks: between the charges of the park and of being woken it looks again and
// again at its permit, which another core gives it by the store that follows the charge of an
// unpark (docs/interfaces.md, section 5). What waking takes depends on how long it has looked.
//
//     parks: charge, looks --- falls_asleep ---> sleeps --- sleeps_long ---> has slept for long
//                |                                  |                              |
//                +---- unpark: charge, store -------+------------------------------+---> is woken
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "memory/line_id.h"

#include <optional>

namespace lockcross {

// How a thread sleeps that parked so many cycles ago.
inline Sleep sleep_after(const Options &options, Cycle cycles) {
    if (cycles < options.charge_falls_asleep)
        return Sleep::NotYet;
    bool long_asleep = options.charge_sleeps_long && cycles >= options.charge_sleeps_long;
    return long_asleep ? Sleep::ForLong : Sleep::Sleeps;
}

class ParkedThread {
  public:
    void park() {
        state_ = {};
        state_.parked = true;
    }
    // It loads from that line; what it loads last is its permit.
    void look(LineId line, Cycle now) {
        if (state_.line == kNoLine)
            state_.since = now;
        state_.line = line;
    }
    bool is_parked() const { return state_.parked; }
    bool waits_for(LineId line) const {
        return state_.parked && !state_.woken && state_.line == line;
    }
    // Another core gives it its permit. Returns how it slept.
    Sleep unpark(const Options &options, Cycle now) {
        state_.woken = slept_until(options, now);
        return *state_.woken;
    }
    // It is woken, and parked no more. Returns how it slept: if nobody gave it a permit meanwhile,
    // it had that before, or waited for something else.
    Sleep wake(const Options &options, Cycle now) {
        Sleep slept = state_.woken.value_or(slept_until(options, now));
        state_ = {};
        return slept;
    }

  private:
    struct State {
        bool parked = false;
        LineId line = kNoLine; // that it looks at
        Cycle since = 0;       // of its first look
        std::optional<Sleep> woken;
    };

    Sleep slept_until(const Options &options, Cycle now) const {
        bool looked = state_.line != kNoLine && now > state_.since;
        return sleep_after(options, looked ? now - state_.since : 0);
    }

    State state_;
};

} // namespace lockcross
