// A core that times the micro-operations of a block one after another (Block::ops).
//
// Invariant: clock_ is the core's start plus the sum of its stall counters.
#pragma once

#include "base/counts.h"
#include "core/block.h"
#include "core/core.h"
#include "isa/micro_ops.h"
#include "memory/memory.h"

#include <cstddef>
#include <vector>

namespace lockcross {

class MicroOpCore : public Core {
  public:
    using Core::Core;

    void begin_block(const Block &next) final;
    void end_block() final;
    Cycle block_end() const final { return clock_; }

  protected:
    // Runs the block up to its micro-operation number `end`.
    virtual void run_to(size_t end) = 0;
    virtual void resolve_branch(const Block &last, const Block &next) = 0;

    const MicroOp &current() const { return block_->ops[next_op_]; }
    // Runs up to the next access of the instruction. False when there is none left: the second
    // access that QEMU reports may be part of the first.
    bool run_to_access(const TimedInsn &insn);

    // Notes the cause of cycles before the next micro-operation retires, behind those noted before.
    void note_wait(Stall cause, Cycle cycles) {
        if (cycles)
            known_waits_.push_back({cause, cycles});
    }
    void note_wait(const AccessDelay &delay) {
        note_wait(Stall::Hold, delay.conflict_wait);
        note_wait(delay.cause, delay.latency);
    }
    // A micro-operation retires in that cycle. The cycles since the last one retired have the
    // causes that were noted: first `first`, for so many of them, then the others; what is left has
    // `other`.
    void retire(Cycle cycle, Stall other, Stall first = Stall::Issue, Cycle of_first = 0);

    size_t next_op_ = 0; // of the block
    Cycle clock_ = 0;    // the cycle after the last micro-operation that retired

  private:
    struct Wait {
        Stall cause;
        Cycle cycles;
    };
    std::vector<Wait> known_waits_;
};

} // namespace lockcross
