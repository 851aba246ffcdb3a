// A core that runs blocks as they were scheduled at their translation.
//
// Clock, by phase: base_ is the cycle at which the current block began, all stalls so far counted.
// An instruction of the block happens at base_ + its offset in the static schedule. Whatever it
// waits for beyond that moves base_, and with it all that follows. Leaving a block moves base_ by
// the block's length, the branch and the wait for results.
//
// Invariant: between blocks, base_ is the core's start plus the sum of its stall counters.
#pragma once

#include "core/core.h"

namespace lockcross {

class ScheduledCore : public Core {
  public:
    using Core::Core;

    void enter(const Block &next) override;
    void leave() override;
    Cycle at(const Step &step) const override { return base_ + step.offset; }
    Cycle end_of_block() const override { return base_ + (block_ ? block_->length : 0); }
    void before_access(const Step &step) override {
        if (step.insn.acquire || step.insn.is_atomic())
            wait_for_order(step);
    }
    void load(const Step &step, uint64_t address, uint32_t size) override;
    void store(const Step &step, uint64_t address, uint32_t size) override;
    void start_at(Cycle cycle) override { start_ = base_ = cycle; }

  private:
    void exclusive(const Step &step, uint64_t address, uint32_t size, uint32_t latency) override;
    void fail_conditional(const Step &) override { stall(Stall::Atomic, options_.cas_failure); }
    void wait_for_fence(const Step &step, Cycle latency) override;
    void wait_for_charge(const Step &, Cycle cycles) override { stall(Stall::Charge, cycles); }

    void stall(Stall cause, Cycle cycles) {
        base_ += cycles;
        count(cause, cycles);
    }
    void wait_until(Stall cause, Cycle now, Cycle until) {
        if (until > now)
            stall(cause, until - now);
    }
    void wait_for(const Fill &fill);
    void wait_for_order(const Step &step);
    uint32_t branch_to(const Block &next, const Block &last);
    void wait_for_results(const Block &last, const Block &next, uint32_t hidden);
    void read(const Step &step, LineId line);
    void buffered_store(const Step &step, uint64_t address, uint32_t size, LineId line);

    Cycle base_ = 0;
    Cycle ordered_until_ = 0; // an atomic stays behind the stores before an lwsync or a dmb st
    // Results that the last block but one, or earlier ones, still owe, from the last block's end.
    std::vector<Block::RegisterTime> owed_;
};

} // namespace lockcross
