// An in-order pipeline. Two instructions a cycle are fetched; they are decoded into
// micro-operations, issued to functional units, and committed, in each stage in order and `width` a
// cycle. Fetch runs ahead of issue as far as the queues between them reach, so the fetch delay of a
// taken branch may be hidden. The stages, their distances and their queues are those of gem5's
// MinorCPU.
//
// Clock: micro-operations come one after another, and for each the cycle of every stage follows
// from those of the ones before. Nothing is simulated cycle by cycle.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/slots.h"
#include "core_models/pipelined/functional_unit.h"
#include "core_models/pipelined/line_fetch.h"
#include "isa/micro_ops.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lockcross {

class Pipeline {
  public:
    explicit Pipeline(const Options &options);

    void start_at(Cycle cycle);

    // Fetches, decodes and issues the next micro-operation. Returns the first cycle in which it can
    // commit or, if it accesses memory, request its access.
    Cycle issue(const MicroOp &op);
    // When the operands of a micro-operation that is about to request its access are committed.
    Cycle operands_committed(const MicroOp &op, Cycle earliest) const;
    // The micro-operation issued last leaves its unit for the load and store queue.
    void leave_unit(Cycle cycle) { unit_->leave(cycle); }
    // Commits the micro-operation issued last.
    Cycle commit(const MicroOp &op, Cycle earliest);

    // Fetch goes on elsewhere: the last instruction is a branch, predicted to be taken.
    void redirect() { restart_ = lines_.redirected_at(fetch_.cycle()); }
    // The last commit was a mispredicted branch: what was fetched after it is flushed. wrong_path:
    // that code; empty when it takes no time to decode.
    void flush(const std::vector<MicroOp> &wrong_path);
    // The last commit was a barrier that flushes what was fetched after it: the same code is
    // fetched again.
    void refetch();
    // Whether the last instruction was fetched again.
    bool refetched() const { return refetched_ > 0; }

    // The cycle of the last commit, and the first one in which a request sees it: requests come
    // before the second commit of a cycle.
    Cycle committed() const { return commit_.cycle(); }
    Cycle commit_seen() const {
        return commit_.cycle() + (commit_.used() >= options_.width ? 1 : 0);
    }

  private:
    static constexpr size_t kRegisters = 64;
    // Cycles from fetch to issue.
    static constexpr uint32_t kFrontEnd = 2;
    // Entries of the queues before decode and before issue. An entry holds what its stage took in
    // one cycle.
    static constexpr uint32_t kFetchQueue = 3, kIssueQueue = 7;
    // A simple operation's result is forwarded after lat_alu, and it commits this much later.
    static constexpr uint32_t kWriteBack = 2;

    void fetch(const MicroOp &op);
    Cycle decode();
    void fetch_wrong_path(const std::vector<MicroOp> &ops);
    Cycle operands_forwarded(const MicroOp &op) const;
    FunctionalUnit &choose_unit(const MicroOp &op, Cycle earliest);

    const Options &options_;
    Slots fetch_, decode_, issue_, commit_, memory_commit_;
    LineFetch lines_;
    // Set when fetch goes on at another line than the next: when that is requested.
    std::optional<Cycle> restart_ = 0;
    std::array<Cycle, kFetchQueue> decoded_{}; // when the last entries left the queue
    std::array<Cycle, kIssueQueue> issued_{};
    uint64_t fetch_entries_ = 0, decode_entries_ = 0;
    uint64_t refetched_ = 0; // instructions, from the last one on, that were fetched before

    std::array<FunctionalUnit, 2> simple_;
    FunctionalUnit multiply_, divide_, memory_;
    FunctionalUnit *unit_ = nullptr; // of the micro-operation issued last; null: none
    Cycle end_ = 0;                  // when that was at the unit's end
    // Of each register: when its value is forwarded, in the consumer's count (operands_forwarded),
    // and the first cycle in which a request sees it committed.
    std::array<Cycle, kRegisters> forwarded_{}, written_{};
};

} // namespace lockcross
