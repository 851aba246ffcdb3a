// Private L1 data caches, a shared inclusive L2, and a full-map MESI directory. A core that lacks a
// line asks for it by GetS to read it and by GetM to write it, which is an upgrade if it has a copy
// in S; GetM invalidates the copies of others.
//
// Invariants: a line in E or M has exactly one sharer; a line in I has none; whatever is in an L1
// is in the L2.
//
// What the directory says changes when a request is made, in the order of the cores' turns. When it
// comes true is a matter of time. At once (time_of_flight=0): the others have lost their copies,
// and who wants the line meanwhile waits until the access is over. With time_of_flight=1 a request
// for a line that others have takes three hops, each a third of its latency:
//
//     core A, asks         the line's home              core B, has it
//     ------------         ---------------              --------------
//     now --------------->  waits for the one before
//                           served ------------------>  reached: `departing.at`; until then B's
//     there  <------------------------------------      copy serves B, if that is not in the middle
//      |                                                of a write
//      +----------------->  home_busy_until: serves the next
//
// So a core that wants a line back which it has just lost waits for it, and has it for a while: two
// cores that add to one line each add several times before it goes on.
//
// A read of a line that others have, but have not written, takes two hops, since the home answers
// by itself. With readers_in_turn it serves the next request, here too, when it has heard that the
// core has the line: so those that wait for one word read it one after another when it has changed.
//
// An atomic that runs at the home (far_atomic) goes there and back, and nobody has a copy after it:
//
//     core A               the line's home              core B, has it
//     ------               ---------------              --------------
//     now --------------->  waits for the one before
//                           served ------------------>  reached
//                           has the line  <-----------  gives it back
//      |                    changes the word; home_busy_until far_atomic_every later
//     done <--------------
//
// A load-linked that follows a store-conditional without reservation waits for the line, which it
// has then with the right to write it (take_for_reservation). Requests that reach its core wait
// there until the pair is over, reservation_kept cycles at most:
//
//     core A, failed      the line's home              core B, failed too
//     --------------      ---------------              ------------------
//     now ------------->  served: on to the owner      asks, waits at the home
//     has the line: load-linked
//     store-conditional
//     kept.until <------  reached: goes on ----------> has the line: load-linked
//
// How long its pair takes is not known when the next request is timed: as long as its last pair
// did.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "base/zeroed.h"
#include "memory/completion.h"
#include "memory/core_set.h"
#include "memory/line_id.h"
#include "memory/memory.h"
#include "memory/tags.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lockcross {

class CacheHierarchy final : public Memory {
  public:
    // lines: of the program's image; counts: one entry for each core, kept by the caller.
    CacheHierarchy(const Options &options, uint32_t lines, std::vector<Counts> &counts);

    AccessDelay read(uint32_t core, LineId line, Cycle now) override;
    AccessDelay get_exclusive(uint32_t core, LineId line, Cycle now, CoherenceEvent access,
                              Cycle writing) override;
    AccessDelay far_atomic(uint32_t core, LineId line, Cycle now) override;
    AccessDelay take_for_reservation(uint32_t core, LineId line, Cycle now) override;
    void prefetch_m(uint32_t core, LineId line, Cycle when, CoherenceEvent access) override;
    Completion drain(uint32_t core, LineId line, Completion start) override;
    void write_in_flight_until(uint32_t core, LineId line, Completion until) override;
    bool is_exclusive(uint32_t core, LineId line) const override {
        return state(core, line) >= Mesi::E;
    }
    bool has_copy(uint32_t core, LineId line) const override {
        return state(core, line) != Mesi::I;
    }

    Mesi state(uint32_t core, LineId line) const;

  private:
    // Copies that a request invalidates: their cores can use them until it reaches them.
    struct DepartingCopies {
        CoreSet cores;
        Cycle at;
        bool writable; // the only copy
        bool stored;   // taken for a store, whose value QEMU has already
    };
    // A line's directory entry, and its accesses in flight. At first all of it is zero.
    struct Line {
        CoreSet sharers;
        Mesi state;             // of all sharers
        bool in_l2, used;       // used: since the begin of the region
        uint8_t owner;          // where it is E or M: the only sharer
        uint8_t writer, reader; // of the accesses in flight
        uint8_t filler;         // whose copy holds the data at fill_until
        bool upgrading;         // it had the data before
        bool prefetched;        // by the filler's GetM, ahead of its access
        Mesi prefetched_from;   // what its copy was then
        Stall fill_cause;
        Cycle write_until, read_until, fill_until;
        // With time_of_flight:
        DepartingCopies departing;
        Cycle home_busy_until; // when the line's home serves the next request
        Cycle kept_until;      // by the core that has it for its reservation, or is to have it
    };
    // A line that a core has for its reservation.
    struct Kept {
        LineId line = kNoLine;
        Cycle since = 0, until = 0;
        Cycle last_pair = 0; // how long the core's last one took; 0: it has had none
    };
    static_assert(Mesi(0) == Mesi::I);

    // A request: how long it takes by itself, why, and whether others have copies in its way.
    struct Request {
        Cycle latency = 0;
        Stall cause = Stall::Hit;
        bool copied = false;
        bool shared = false; // the home answers a read by itself
    };

    AccessDelay write_hit_or_miss(uint32_t core, LineId line, Cycle now, CoherenceEvent access);
    // GetM: makes the core the line's only holder, in state `then`. stored: for a store.
    AccessDelay get_m(uint32_t core, LineId line, Cycle now, bool stored, Mesi then);
    // Whether a core of another cluster has a copy.
    bool is_far(uint32_t core, const Line &line) const;
    // How long it takes to have a copy from its owner, and to be the only one of several to have
    // it.
    Cycle dirty_latency(uint32_t core, const Line &line) const;
    Cycle upgrade_latency(uint32_t core, const Line &line) const;
    // How long it takes to read what others have read, too.
    Cycle shared_latency(uint32_t core, const Line &line) const;
    Request fill_from_below(Line &line, LineId id);
    // Sends the request of an access: how long it waits for others, and takes by itself.
    AccessDelay send(uint32_t core, Line &line, Cycle now, Request request, bool write);
    // By the hold rule (memory.h).
    Cycle wait_for_conflict(uint32_t core, const Line &line, Cycle now, bool write);
    // The same with time_of_flight; others' copies leave when the request reaches them.
    Cycle queue(Line &line, Cycle now, const Request &request);
    // Whether the core can still use a copy that another one's request has taken.
    bool copy_still_usable(uint32_t core, LineId id, Cycle now, bool write) const;
    // One that was evicted, or forwarded from a store, is not another core's.
    bool keeps_copy(uint32_t core, LineId id, Cycle now) const override {
        return !options_.time_of_flight || state(core, id) != Mesi::I ||
               lines_[id].sharers.none() || copy_still_usable(core, id, now, false);
    }
    static AccessDelay wait_for_fill(uint32_t core, const Line &line, Cycle now);
    void invalidate_others(uint32_t core, Line &line, LineId id);
    void drop_copy(uint32_t core, Line &line, LineId id, CoherenceEvent why);
    void insert_in_l1(uint32_t core, LineId id);
    void insert_in_l2(LineId id);
    uint64_t &count(uint32_t core, CoherenceEvent event, Mesi state) {
        return counts_[core].coherence[size_t(event)][size_t(state)];
    }

    const Options &options_;
    std::vector<Counts> &counts_;
    Zeroed<Line> lines_;
    std::mt19937_64 jitter_;
    std::vector<Kept> kept_; // of each core
    std::vector<Tags> l1_;
    Tags l2_;
};

} // namespace lockcross
