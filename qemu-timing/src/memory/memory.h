// The memory system, as the core models see it.
//
// Clock: every access is given the cycle at which it begins, and accesses arrive in the order in
// which the program makes them (region/turn_order.h). Coherence state changes at once, since QEMU
// has already performed the access; the time that the access takes is returned.
//
// A memory may have a clock of its own, which it lets pass to find out how long an access takes.
// Then the core sleeps until an access that it waits for is done, and others run meanwhile; a
// store that drains while the core goes on is done at a Completion that may not be known yet.
//
// The hold rule, which every implementation keeps: while an access is in flight, a conflicting
// access of another core to the line (one of the two a write) waits for its end before its own
// latency begins. So a reader never hits a copy that a buffered store of another core has made
// stale. One exception: where requests take time to travel (time_of_flight), a copy serves its core
// until the request reaches it, unless that is a store's.
#pragma once

#include "base/counts.h"
#include "memory/completion.h"
#include "memory/line_id.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace lockcross {

// The time that an access takes beyond an L1 hit: first what it waits by the hold rule, then the
// latency, whose cause is named.
struct AccessDelay {
    Cycle conflict_wait = 0;
    Cycle latency = 0;
    Stall cause = Stall::Hit;

    Cycle total() const { return conflict_wait + latency; }
};

// Is told of a core that loses a line which it watches, or the right to write it.
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void before_loss(uint32_t core) = 0;
};

class Memory {
  public:
    explicit Memory(uint32_t cores) : reservations_(cores, kNoLine), watched_(cores, kNoLine) {}
    virtual ~Memory() = default;

    virtual AccessDelay read(uint32_t core, LineId line, Cycle now) = 0;

    // Makes `core` the only holder of the line, with the right to write it. access: Store or
    // Atomic. The write is in flight until `writing` cycles after the core has the line.
    virtual AccessDelay get_exclusive(uint32_t core, LineId line, Cycle now, CoherenceEvent access,
                                      Cycle writing) = 0;
    // An atomic at the line's home, which takes all copies from their cores, this one's too. The
    // delay is beside the way there and back, lat_far_atomic. Not for every memory (options.cc).
    virtual AccessDelay far_atomic(uint32_t, LineId, Cycle) { return {}; }
    // GetM ahead of the access that writes: asks for the right to write the line. That access waits
    // for the answer.
    virtual void prefetch_m(uint32_t, LineId, Cycle, CoherenceEvent) {}
    // The same for a store that drains while its core goes on. Returns when the core has the line.
    virtual Completion drain(uint32_t core, LineId line, Completion start) = 0;
    // The write of the store that got the line last is in flight until then.
    virtual void write_in_flight_until(uint32_t core, LineId line, Completion until) = 0;

    // Whether the core has the right to write the line; whether it has a copy at all.
    virtual bool is_exclusive(uint32_t core, LineId line) const = 0;
    virtual bool has_copy(uint32_t core, LineId line) const = 0;

    // The cycle in which it is done. If that is not known, the core sleeps until it is.
    Cycle when(uint32_t core, const Completion &completion) {
        return completion.known() ? completion.cycle : wait(core, completion);
    }
    // Whether it is done at `now`, a cycle that the core has reached.
    bool is_done(const Completion &completion, Cycle now) {
        return completion.cycle <= now && (completion.known() || answered_by(completion, now));
    }

    // When both are done.
    Completion later(const Completion &one, const Completion &other) {
        if (!one.known() && !other.known() && one.ticket != other.ticket)
            return join(one, other);
        Completion both = one.known() ? other : one;
        both.cycle = std::max(one.cycle, other.cycle);
        both.after = std::max(one.after, other.after);
        return both;
    }

    // Memory with a clock of its own lets it pass up to that cycle, or until a core that sleeps can
    // go on.
    virtual void advance(Cycle) {}
    // No core may make an access later than this before memory has advanced to it.
    virtual Cycle horizon() const { return std::numeric_limits<Cycle>::max(); }

    // The region of interest has ended.
    virtual void finish() {}
    virtual std::optional<MemoryUse> use() const { return {}; }

    // The reservation of a load-linked, which is lost when another core writes the line, or takes
    // it away from this core's cache.
    void reserve(uint32_t core, LineId line) { reservations_[core] = line; }
    bool is_reserved(uint32_t core, Cycle now) const {
        return reservations_[core] != kNoLine && keeps_copy(core, reservations_[core], now);
    }
    void clear_reservation(uint32_t core) { reservations_[core] = kNoLine; }
    // A core whose store-conditional has lost its reservation asks for the line with the right to
    // write it, ahead of the load-linked that comes next, and then keeps it for a while
    // (reservation_kept). Not for every memory.
    virtual AccessDelay take_for_reservation(uint32_t, LineId, Cycle) { return {}; }

    // The watcher hears before the core loses its copy of the line or the right to write it, once.
    void watch(uint32_t core, LineId line, Watcher &watcher) {
        watched_[core] = line;
        watcher_ = &watcher;
    }
    void unwatch(uint32_t core) { watched_[core] = kNoLine; }

  protected:
    void before_loss(uint32_t core, LineId line) {
        if (watched_[core] == line) {
            watched_[core] = kNoLine;
            watcher_->before_loss(core);
        }
    }

    // Whether what the core has read of the line is still in its cache.
    virtual bool keeps_copy(uint32_t, LineId, Cycle) const { return true; }

    // For completions that are not known.
    virtual Cycle wait(uint32_t, const Completion &completion) { return completion.cycle; }
    virtual Completion join(const Completion &one, const Completion &) { return one; }
    virtual bool answered_by(const Completion &, Cycle) { return true; }

    void lose_reservations(uint32_t winner, LineId line) {
        for (uint32_t core = 0; core < reservations_.size(); core++) {
            if (core != winner && reservations_[core] == line)
                reservations_[core] = kNoLine;
        }
    }

  private:
    std::vector<LineId> reservations_; // of each core
    std::vector<LineId> watched_;      // the same
    Watcher *watcher_ = nullptr;
};

} // namespace lockcross
