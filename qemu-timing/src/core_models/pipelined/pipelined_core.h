// A core whose micro-operations pass through a pipeline (pipeline.h), and their accesses through a
// load and store queue. As in gem5's MinorCPU:
// - A load requests its access when its operands are committed, even before earlier
//   micro-operations commit; at most two are in memory at once. It commits when its data come. A
//   store commits into the store buffer.
// - A load-linked, an atomic of one micro-operation, a store-conditional and a release store wait
//   until they are the oldest; the last two also wait until the store buffer has drained.
// - A full fence commits at once; accesses after it wait until every earlier store has drained.
//   What acquires or releases counts as a full fence, too.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/micro_op_core.h"
#include "core_models/pipelined/pipeline.h"
#include "isa/micro_ops.h"
#include "memory/line_id.h"
#include "memory/memory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

class PipelinedCore final : public MicroOpCore {
  public:
    PipelinedCore(const Options &options, uint32_t id, Memory &memory, Counts &counts);

    void start_at(Cycle cycle) override;
    void before_access(const TimedInsn &insn) override { request(insn); }
    Cycle access_cycle(const TimedInsn &) const override { return requested_at_; }
    void load(const TimedInsn &insn, uint64_t address, uint32_t size) override;
    void store(const TimedInsn &insn, uint64_t address, uint32_t size) override;

  private:
    // The cycle of a commit, and the first one in which a request sees it (Pipeline::commit_seen).
    struct Commit {
        Cycle cycle = 0, seen = 0;
    };

    void atomic(const TimedInsn &insn, uint64_t address, uint32_t size, uint32_t latency) override;
    void fail_conditional(const TimedInsn &insn) override;
    void wait_for_fence(const TimedInsn &insn, Cycle latency) override;
    void wait_for_charge(const TimedInsn &insn, Cycle cycles, bool drained) override;
    void wait_for_interrupt(Cycle cycles) override;

    void run_to(size_t end) override;
    void resolve_branch(const Block &last, const Block &next) override;
    void commit_current(Cycle earliest);
    void commit_after(const TimedInsn &insn, Stall cause, Cycle latency);

    // Runs up to the next access of the instruction and requests it. False when there is none left:
    // the second access that QEMU reports may be part of the first.
    bool request(const TimedInsn &insn);
    // When the request is considered, if it has to see this commit.
    Cycle after_commit(Commit commit) const;
    // Sends the access to memory as soon as a slot there is free; returns when.
    Cycle send_to_memory(Cycle earliest);
    // The slot that is free first.
    Cycle &memory_slot() { return *std::min_element(memory_slots_.begin(), memory_slots_.end()); }
    Cycle read(LineId first, LineId last, Cycle from);
    // An access that waits until it is the oldest, and then for the line.
    void write_when_oldest(const TimedInsn &insn, uint64_t address, uint32_t size,
                           CoherenceEvent access, Cycle latency);
    void write_to_buffer(const TimedInsn &insn, uint64_t address, uint32_t size,
                         CoherenceEvent access);
    void finish_access(const TimedInsn &insn, Cycle done);
    // Accesses after a fence that committed in that cycle wait for the drain.
    void fence_from(Cycle committed);

    Pipeline pipeline_;
    bool requested_ =
        false; // the current micro-operation is an access, requested but not committed
    Cycle requested_at_ = 0;
    Cycle fenced_until_ = 0;               // no request before
    Cycle interrupted_until_ = 0;          // no commit before
    Cycle queue_free_ = 0;                 // when the last access made room for the next request
    std::array<Commit, 2> access_commits_; // of the last two accesses
    Commit store_commit_;                  // of the last store
    Commit last_commit_;                   // of any micro-operation
    std::array<Cycle, 2> memory_slots_{};  // until when each is taken by an access in memory

    struct Span {
        Cycle from = 0, until = 0;
    };
    // When the last accesses were the oldest and waited for memory: no request meanwhile.
    std::array<Span, 4> oldest_waited_{};

    Stall other_wait_ = Stall::Dependence; // the cause of all other cycles before the next commit
};

} // namespace lockcross
