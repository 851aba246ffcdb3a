// An in-order pipeline: two instructions a cycle are fetched, then decoded into micro-operations,
// issued to functional units, and committed, each of it in order and `width` a cycle. Fetch runs
// ahead of issue as far as its queues reach, so what a taken branch costs there may be hidden.
// The stages, their distances and queues are those of gem5's MinorCPU.
//
// Clock: micro-operations come one after another, and for each the cycle of every stage is worked
// out from those of the ones before; nothing is simulated cycle by cycle.
#pragma once

#include "core_models/pipelined/line_fetch.h"
#include "isa/micro_ops.h"
#include "base/options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace lockcross {

// `width` places a cycle, taken in order.
class Slots {
  public:
    // The next place that is not before `earliest`.
    Cycle take(Cycle earliest, uint32_t width) {
        if (!has_room(earliest, width)) {
            cycle_ = std::max(earliest, cycle_ + 1);
            used_ = 0;
        }
        used_++;
        return cycle_;
    }
    // Whether that is in the cycle of the last one.
    bool has_room(Cycle earliest, uint32_t width) const {
        return earliest <= cycle_ && used_ < width;
    }
    // No more in this cycle.
    void close() { used_ = UINT32_MAX; }
    Cycle cycle() const { return cycle_; }
    uint32_t used() const { return used_; }
    void start_at(Cycle cycle) { cycle_ = cycle; }

  private:
    Cycle cycle_ = 0;
    uint32_t used_ = 0;
};

// A functional unit: what is in it moves on together, or not at all while the one at its end
// cannot leave it.
class FunctionalUnit {
  public:
    // depth: cycles from issue to its end; interval: cycles between two issues.
    FunctionalUnit(uint32_t depth, uint32_t interval) : depth_(depth), interval_(interval) {}

    // The first cycle, not before `earliest`, in which it takes another.
    Cycle free_at(Cycle earliest) const;
    // Takes one; returns the cycle in which it is at the end.
    Cycle take(Cycle issue);
    // The one taken last leaves.
    void leave(Cycle cycle) { passages_.back().left = cycle; }
    uint32_t depth() const { return depth_; }

  private:
    struct Passage {
        Cycle issue, end, left;
    };
    uint32_t depth_, interval_;
    std::vector<Passage> passages_; // those that still matter
};

class Pipeline {
  public:
    explicit Pipeline(const Options &options);

    void start_at(Cycle cycle);

    // Fetches, decodes and issues the next one; returns the first cycle in which it can commit,
    // or, if it accesses memory, ask for it.
    Cycle issue(const MicroOp &op);
    // When the operands of one that is about to ask for memory are committed.
    Cycle operands_committed(const MicroOp &op, Cycle earliest) const;
    // The one issued last leaves its unit for the memory.
    void leave_unit(Cycle cycle) { unit_->leave(cycle); }
    // The one issued last is committed.
    Cycle commit(const MicroOp &op, Cycle earliest);

    // The fetch goes on elsewhere: the last instruction is a branch, and predicted.
    void redirect() { restart_ = lines_.redirected_at(fetch_.cycle()); }
    // What was fetched is thrown away, since the last commit said so. It was `behind`, or nothing
    // that takes time to decode.
    void refill(const std::vector<MicroOp> &behind);
    // The same, by an instruction that is no branch: what is fetched next was fetched before.
    void refetch();
    // Whether the last instruction was.
    bool refetched() const { return refetched_ > 0; }
    // The cycle of the last commit, and the first one in which an access takes it as done: accesses
    // are asked for before the second commit of a cycle.
    Cycle committed() const { return commit_.cycle(); }
    Cycle seen() const { return commit_.cycle() + (commit_.used() >= options_.width ? 1 : 0); }

  private:
    static constexpr size_t kRegisters = 64;
    // Cycles between fetch and issue. Entries of the queues before decode and before issue, each
    // of which holds what its stage took in one cycle.
    static constexpr uint32_t kFrontEnd = 2, kFetched = 3, kDecoded = 7;
    // A simple operation's result is forwarded after lat_alu, and it commits this much later.
    static constexpr uint32_t kWriteBack = 2;

    void fetch(const MicroOp &op);
    Cycle decode();
    void fetch_in_vain(const std::vector<MicroOp> &ops);
    Cycle operands_at(const MicroOp &op) const;
    FunctionalUnit &choose_unit(const MicroOp &op, Cycle earliest);

    const Options &options_;
    Slots fetch_, decode_, issue_, commit_, memory_commit_;
    LineFetch lines_;
    std::optional<Cycle> restart_ = 0;      // when the next line is asked for, if it is another
    std::array<Cycle, kFetched> decoded_{}; // when the last entries were done with
    std::array<Cycle, kDecoded> issued_{};
    uint64_t refetched_ = 0; // instructions from the last one on that were fetched before
    uint64_t fetch_entries_ = 0, decode_entries_ = 0;

    FunctionalUnit simple_[2], multiply_, divide_, memory_;
    FunctionalUnit *unit_ = nullptr; // of the one issued last
    Cycle end_ = 0;                  // when that was at its end
    Cycle ready_[kRegisters] = {};   // its result, counted as by its consumers
    Cycle written_[kRegisters] = {}; // cycle from which one that asks for memory may use it
};

} // namespace lockcross
