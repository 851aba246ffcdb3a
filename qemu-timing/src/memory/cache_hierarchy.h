// The coherent memory system: private L1 data caches, a shared inclusive L2, and a full-map MESI
// directory.
//
// Clock: every access is given the cycle at which it begins, and accesses arrive in the order in
// which the program makes them (see turns.h). Coherence state changes at once, since QEMU has
// already performed the access; the time it takes is returned and kept with the line. Hence the
// hold rule: while an access is in flight, a conflicting access of another core to the line (one of
// the two a write) waits for its end before its own latency begins. A reader can thus never hit a
// copy that a buffered store of another core has made stale.
//
// Invariants: a line in E or M has exactly one sharer; a line in I has none; whatever is in an L1
// is in the L2.
#pragma once

#include "base/options.h"
#include "base/counts.h"
#include "memory/tags.h"

#include <vector>

namespace lockcross {

// The time an access takes beyond that of an L1 hit: hold, then latency, whose cause is named.
struct Fill {
    Cycle hold = 0;
    Cycle latency = 0;
    Stall cause = Stall::Hit;
};

class Memory {
  public:
    // lines: number of lines of the program's image; counts: one entry a core, kept by the caller.
    Memory(const Options &options, uint32_t lines, std::vector<Counts> &counts);

    Fill read(uint32_t core, LineId line, Cycle now);

    // Makes the line exclusive (M) to core. event is Store or Atomic.
    Fill own(uint32_t core, LineId line, Cycle now, Event event);

    // The write that core began with own() is in flight until then.
    void write_until(uint32_t core, LineId line, Cycle until);

    // Load-linked reservation of core on line; taken away when another core owns the line.
    void reserve(uint32_t core, LineId line) { reservations_[core] = line; }
    bool reserved(uint32_t core) const { return reservations_[core] != kNoLine; }
    void unreserve(uint32_t core) { reservations_[core] = kNoLine; }

    Mesi state(uint32_t core, LineId line) const;
    uint32_t lines() const { return uint32_t(lines_.size()); }

  private:
    struct Line {
        uint64_t sharers = 0; // bit per core
        Mesi state = Mesi::I; // of all sharers
        bool in_l2 = false;
        uint8_t writer = 0, reader = 0; // of the accesses in flight
        Stall fill_cause = Stall::Hit;
        Cycle write_until = 0, read_until = 0;
        Cycle fill_until = 0; // when the copy of its owner holds the data
    };

    Fill fetch(Line &line, LineId id);
    Cycle held(uint32_t core, const Line &line, Cycle now, bool write);
    void invalidate_others(uint32_t core, Line &line, LineId id);
    void drop(uint32_t core, Line &line, LineId id, Event event);
    void install(uint32_t core, LineId id);
    void enter_l2(LineId id);
    uint64_t &count(uint32_t core, Event event, Mesi state) {
        return counts_[core].coherence[size_t(event)][size_t(state)];
    }

    const Options &options_;
    std::vector<Counts> &counts_;
    std::vector<Line> lines_;
    std::vector<Tags> l1_;
    Tags l2_;
    std::vector<LineId> reservations_;
};

} // namespace lockcross
