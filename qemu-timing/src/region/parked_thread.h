// A vCPU whose thread parks: between the charges of the park and of being woken it looks again and
// again at its permit, which another core gives it by the store that follows the charge of an
// unpark (docs/interfaces.md, section 5). What waking takes depends on how long after the beginning
// of the park that store is seen.
//
//     parks: charge, looks --- falls_asleep ---> sleeps --- sleeps_long ---> has slept for long
//                |                                  |                              |
//                +---- unpark: charge, store -------+------------------------------+---> is woken
//
// It may fall asleep within the charge, before it looks for the first time. Who gives it its permit
// there is told by the line: a thread has one permit.
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
    void park(Cycle now) {
        state_ = {};
        state_.parked = true;
        state_.began = now;
    }
    // It loads from that line; what it loads last is its permit.
    void look(LineId line, Cycle now) {
        if (state_.line == kNoLine)
            state_.first_look = now;
        state_.line = line;
    }
    bool is_parked() const { return state_.parked; }
    bool waits_for(LineId line) const {
        LineId permit = permit_ == kNoLine ? state_.line : permit_;
        return state_.parked && !state_.woken && permit == line;
    }
    // Another core has given it its permit in that cycle. Returns how it slept.
    Sleep unpark(const Options &options, Cycle now) {
        state_.woken = slept_until(options, now);
        return *state_.woken;
    }
    // It is woken, and parked no more. Returns how it slept: if nobody gave it a permit meanwhile,
    // it had that before, or waited for something else.
    Sleep wake(const Options &options, Cycle now) {
        bool waited = state_.line != kNoLine && now > state_.first_look;
        Sleep slept =
            state_.woken.value_or(waited ? slept_until(options, now) : sleep_after(options, 0));
        permit_ = state_.line;
        state_ = {};
        return slept;
    }

  private:
    struct State {
        bool parked = false;
        Cycle began = 0;
        LineId line = kNoLine; // that it looks at
        Cycle first_look = 0;
        std::optional<Sleep> woken;
    };

    Sleep slept_until(const Options &options, Cycle now) const {
        return sleep_after(options, now > state_.began ? now - state_.began : 0);
    }

    State state_;
    LineId permit_ = kNoLine; // since it was woken for the first time
};

} // namespace lockcross
