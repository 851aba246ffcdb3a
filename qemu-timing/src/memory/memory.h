// The memory system, as the core models see it.
//
// Clock: every access is given the cycle at which it begins, and accesses arrive in the order in
// which the program makes them (region/turn_order.h). Coherence state changes at once, since QEMU
// has already performed the access; the time that the access takes is returned.
//
// The hold rule, which every implementation keeps: while an access is in flight, a conflicting
// access of another core to the line (one of the two a write) waits for its end before its own
// latency begins. So a reader never hits a copy that a buffered store of another core has made
// stale.
#pragma once

#include "base/counts.h"
#include "memory/line_id.h"

#include <cstdint>

namespace lockcross {

// The time that an access takes beyond an L1 hit: first the hold, then the latency, whose cause is
// named.
struct AccessDelay {
    Cycle hold = 0;
    Cycle latency = 0;
    Stall cause = Stall::Hit;

    Cycle total() const { return hold + latency; }
};

class Memory {
  public:
    virtual ~Memory() = default;

    virtual AccessDelay read(uint32_t core, LineId line, Cycle now) = 0;

    // Makes `core` the only holder of the line, with the right to write it. access: Store or
    // Atomic.
    virtual AccessDelay get_exclusive(uint32_t core, LineId line, Cycle now,
                                      CoherenceEvent access) = 0;

    // The write for which the core got the line is in flight until then.
    virtual void write_in_flight_until(uint32_t core, LineId line, Cycle until) = 0;

    // Whether the core has the right to write the line; whether it has a copy at all.
    virtual bool is_exclusive(uint32_t core, LineId line) const = 0;
    virtual bool has_copy(uint32_t core, LineId line) const = 0;

    // The reservation of a load-linked, which is lost when another core gets the line exclusively.
    virtual void reserve(uint32_t core, LineId line) = 0;
    virtual bool is_reserved(uint32_t core) const = 0;
    virtual void clear_reservation(uint32_t core) = 0;
};

} // namespace lockcross
