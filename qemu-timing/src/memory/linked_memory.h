// A memory system that another process simulates (link/link.h).
//
// What this side knows: who has a copy of each line, and who wrote it last. So an access that hits
// the L1 is known to, and takes no turn of the simulator, which hears of it only to keep the line
// in use, once after each miss of the core. All other accesses are its requests. They are never
// answered out of the hold rule's order (memory.h): one that conflicts with an earlier one is sent
// when that is done.
//
// One miss, from the request until it is settled:
//
//     a core               this side                                           the simulator
//     ------               ---------                                           -------------
//     read,
//     get_exclusive,
//     drain ------------>  request: a ticket; the line changes hands here at once
//                          start_after: something in its way? ---+ yes: queued_, and dependents_
//                             | no                               | of what it waits for
//                          start, send: to_send_, open_  <-------+ (when that is settled)
//     sleeps <-----------  wait: sleeping_
//     (others run) ----->  advance: exchange ------------------------------->  simulates up to a
//                                                                              cycle, and answers
//                          settle: answers_, the cycle when it was done  <---
//     goes on <----------  go_on_at, and those that it was in the way of start
//
// An answer is kept as long as somebody may ask for it: a core goes on in the past of others by no
// more than a request may take (kForgotten).
//
// Clocks: the simulator's cycle is the cores' cycle plus `lag_`. A core that has slept for an
// access goes on in that access's past if it executes out of order. What it requests then is late:
// it is sent at once, its time is counted from there, and the lag grows by that.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "link/link.h"
#include "link/memory_simulator.h"
#include "memory/completion.h"
#include "memory/core_set.h"
#include "memory/line_id.h"
#include "memory/memory.h"
#include "memory/tags.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace lockcross {

// The cores, which sleep while they wait for memory.
class Sleepers {
  public:
    virtual ~Sleepers() = default;

    // That core, whose code calls this, sleeps; others run meanwhile.
    virtual void sleep_until_answered(uint32_t core) = 0;
    // The core goes on at that cycle.
    virtual void go_on_at(uint32_t core, Cycle cycle) = 0;
};

class LinkedMemory final : public Memory {
  public:
    // lines: of the program's image; counts: one entry for each core, kept by the caller.
    LinkedMemory(const Options &options, uint32_t lines, std::vector<Counts> &counts,
                 std::unique_ptr<MemorySimulator> simulator, Sleepers &sleepers);

    AccessDelay read(uint32_t core, LineId line, Cycle now) override;
    AccessDelay get_exclusive(uint32_t core, LineId line, Cycle now, CoherenceEvent access,
                              Cycle writing) override;
    Completion drain(uint32_t core, LineId line, Completion start) override;
    void write_in_flight_until(uint32_t core, LineId line, Completion until) override;
    bool is_exclusive(uint32_t core, LineId line) const override {
        return lines_[line].owner == core;
    }
    bool has_copy(uint32_t core, LineId line) const override { return lines_[line].sharers[core]; }

    void advance(Cycle until) override;
    Cycle horizon() const override;
    void finish() override { simulator_->finish(); }
    std::optional<MemoryUse> use() const override { return use_; }

  private:
    static constexpr uint32_t kNobody = UINT32_MAX;
    static constexpr Cycle kOpen = UINT64_MAX;
    // Cycles after which an answer is forgotten: more than a request may take (sst-configs ends a
    // run in which one takes 10 million), so nobody's present is as early as that.
    static constexpr Cycle kForgotten = 1 << 25;

    struct InFlight {
        uint32_t core = kNobody;
        Completion until;
    };
    struct Line {
        CoreSet sharers, touched;    // touched: the simulator knows that these use it
        uint32_t owner = kNobody;    // whose copy is the only one, as far as is known here
        bool written = false;        // by its owner
        bool used = false;           // since the begin of the region
        Completion fill;             // when the last writer had it
        InFlight write;              // the last one
        std::vector<InFlight> reads; // since then, that may not be done
        Stall fill_cause = Stall::Hit;
    };
    // What became of a request.
    struct Answer {
        Cycle sent = 0, done = kOpen; // done: when the core has the line, without the L1's latency
        Cycle lag = 0;                // of the simulator's clock when it was sent
    };
    // What waits for others to be done: a request, or nothing but that.
    struct Queued {
        std::optional<LinkRequest> request;
        Cycle earliest = 0;
        uint32_t waits_for = 0;
    };
    struct Dependent {
        uint64_t ticket;
        Completion on;
    };

    Cycle wait(uint32_t core, const Completion &completion) override;
    Completion join(const Completion &one, const Completion &other) override;
    bool answered_by(const Completion &completion, Cycle now) override;

    Mesi state(uint32_t core, LineId line) const;
    AccessDelay wait_for_fill(uint32_t core, const Line &line, Cycle now);
    // The delay of an access at `now`, whose core sleeps until the request is done.
    AccessDelay delay_of(uint32_t core, uint64_t ticket, Cycle now, Stall cause);
    uint64_t request_read(uint32_t core, LineId id, Cycle now);
    uint64_t request_write(uint32_t core, LineId id, Completion start);
    // A request that is sent when all those are done. Returns its ticket.
    uint64_t request(RequestKind kind, uint32_t core, LineId id,
                     const std::vector<Completion> &after);
    void send(LinkRequest request, Cycle cycle);
    // Goes on once all those are done: at once, or later.
    void start_after(const std::vector<Completion> &after, uint64_t ticket, Queued queued);
    void start(uint64_t ticket, const Queued &queued);
    // The ticket is done at that cycle.
    void settle(uint64_t ticket, Cycle done);
    void touch(uint32_t core, LineId id, Cycle now);
    // A write that needs no request, since the core has the only copy.
    void write_own(uint32_t core, LineId id, Cycle now);
    void tell(RequestKind kind, uint32_t core, LineId id, Cycle now);
    void insert_in_l1(uint32_t core, LineId id);
    void invalidate_others(uint32_t core, LineId id);
    bool is_open(const Completion &c) const { return !c.known() && done(c) == kOpen; }
    Cycle done(const Completion &c) const {
        return c.ticket < first_kept_ ? 0 : answers_[c.ticket - first_kept_].done;
    }
    Answer &answer(uint64_t ticket) { return answers_[ticket - first_kept_]; }
    // Returns its ticket.
    uint64_t open_answer();
    void forget_before(Cycle cycle);
    Cycle value(const Completion &completion) const;
    uint64_t &count(uint32_t core, CoherenceEvent event, Mesi state) {
        return counts_[core].coherence[size_t(event)][size_t(state)];
    }

    const Options &options_;
    std::vector<Counts> &counts_;
    std::unique_ptr<MemorySimulator> simulator_;
    Sleepers &sleepers_;
    std::vector<Line> lines_;
    std::vector<Tags> l1_;
    std::vector<std::vector<LineId>> touched_; // of each core since its last miss

    std::deque<Answer> answers_; // by ticket, from first_kept_ on; there is none of number 0
    uint64_t first_kept_ = 1;
    std::unordered_map<uint64_t, Queued> queued_;
    std::unordered_map<uint64_t, std::vector<Dependent>> dependents_;
    std::unordered_map<uint32_t, Completion> sleeping_; // by core: what it waits for
    std::vector<LinkRequest> to_send_;
    std::multiset<Cycle> open_; // the simulator's cycles of the requests without an answer
    Cycle lag_ = 0;
    MemoryUse use_;
};

} // namespace lockcross
