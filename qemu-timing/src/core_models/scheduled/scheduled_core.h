// A core that runs blocks as they were scheduled when they were translated.
//
// Clock: base_ is the cycle at which the current block began, later moved by every stall within it.
// An instruction of the block happens at base_ plus its cycle in the static schedule. Whatever it
// waits for beyond that moves base_, and with it all that follows. The end of a block moves base_
// by the block's length, its branch and the wait for results.
//
// Invariant: between blocks, base_ is the core's start plus the sum of its stall counters.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/core.h"
#include "core/schedule.h"
#include "memory/completion.h"
#include "memory/line_id.h"
#include "memory/memory.h"

#include <cstdint>
#include <vector>

namespace lockcross {

class ScheduledCore final : public Core {
  public:
    using Core::Core;

    void start_at(Cycle cycle) override { start_ = base_ = cycle; }
    void begin_block(const Block &next) override;
    void end_block() override;
    Cycle block_end() const override { return base_ + (block_ ? block_->schedule.length : 0); }
    void before_access(const TimedInsn &insn) override {
        if (insn.acquire || insn.is_atomic())
            wait_for_earlier_stores(insn);
    }
    Cycle access_cycle(const TimedInsn &insn) const override { return base_ + insn.issue_cycle; }
    void load(const TimedInsn &insn, uint64_t address, uint32_t size) override;
    void store(const TimedInsn &insn, uint64_t address, uint32_t size) override;

  private:
    void atomic(const TimedInsn &insn, uint64_t address, uint32_t size, uint32_t latency) override;
    void fail_conditional(const TimedInsn &) override {
        stall(Stall::Atomic, options_.cas_failure);
    }
    void wait_for_fence(const TimedInsn &insn, Cycle latency) override;
    void wait_for_charge(const TimedInsn &insn, Cycle cycles, bool drained) override {
        if (drained)
            wait_for_drain(access_cycle(insn));
        stall(Stall::Charge, cycles);
    }
    void wait_for_interrupt(Cycle cycles) override {
        wait_for_drain(base_);
        stall(Stall::Charge, cycles);
    }
    void wait_behind_store(Cycle cycles) override { stall(Stall::Charge, cycles); }

    void stall(Stall cause, Cycle cycles) {
        base_ += cycles;
        count(cause, cycles);
    }
    void stall_until(Stall cause, Cycle now, Cycle until) {
        if (until > now)
            stall(cause, until - now);
    }
    void wait_for_drain(Cycle now) {
        stall_until(Stall::Drain, now, store_buffer_.drained_at(now));
    }
    void wait_for(const AccessDelay &delay);
    void wait_for_line(const AccessDelay &delay) override {
        stall(Stall::Hold, delay.conflict_wait);
        stall(delay.cause, delay.latency);
    }
    void wait_for_earlier_stores(const TimedInsn &insn);
    uint32_t branch_to(const Block &next, const Block &last);
    void wait_for_results(const Schedule &last, const Schedule &next, uint32_t hidden);
    void read(const TimedInsn &insn, LineId line);
    void buffered_store(const TimedInsn &insn, uint64_t address, uint32_t size, LineId line);

    Cycle base_ = 0;
    Completion ordered_until_; // an atomic waits for the stores before an lwsync or a dmb st
    // Results of blocks before the last one that are not ready yet, in cycles from the last
    // block's end.
    std::vector<Schedule::RegisterTime> late_results_;
};

} // namespace lockcross
