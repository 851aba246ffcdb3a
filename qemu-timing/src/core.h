// One simulated in-order core.
//
// Clock, by phase: base_ is the cycle at which the current block began, all stalls so far counted.
// An instruction of the block happens at base_ + its offset in the static schedule. Whatever it
// waits for beyond that moves base_, and with it all that follows. Leaving a block moves base_ by
// the block's length, the branch and the wait for results.
//
// Invariant: between blocks, base_ is the core's start plus the sum of its stall counters.
#pragma once

#include "block.h"
#include "memory.h"
#include "predictor.h"
#include "store_buffer.h"

namespace lockcross {

class Core {
  public:
    Core(const Options &options, uint32_t id, Memory &memory, Counts &counts);

    // Ends the block before, if there is one, and begins next.
    void enter(const Block &next);
    // Ends the current block without a successor.
    void leave();

    Cycle at(const Step &step) const { return base_ + step.offset; }
    // The cycle behind the current block.
    Cycle end_of_block() const { return base_ + (block_ ? block_->length : 0); }

    // Accesses: the address counts from the image's start, size in bytes.
    void load(const Step &step, uint64_t address, uint32_t size);
    void store(const Step &step, uint64_t address, uint32_t size);
    void load_linked(const Step &step, uint64_t address, uint32_t size);
    // What an access waits for before it is made, and before it competes for its line.
    void before_access(const Step &step) {
        if (step.insn.acquire || step.insn.is_atomic())
            wait_for_order(step);
    }
    // won: the functional outcome.
    void cas(const Step &step, uint64_t address, uint32_t size, bool won);
    void rmw(const Step &step, uint64_t address, uint32_t size);
    // accessed: false when it failed before it came to the memory.
    void store_conditional(const Step &step, uint64_t address, uint32_t size, bool accessed,
                           bool won);
    void fence(const Step &step);
    void charge(const Step &step);
    // The core begins its work at that cycle; its own cycles count from there.
    void start_at(Cycle offset) { start_ = base_ = offset; }
    // Cycles from the core's start to the end of the current block.
    Cycle cycles() const { return end_of_block() - start_; }

    bool reservation_lost() const { return reserving_ && !memory_.reserved(id_); }
    Cycle stall_sum() const;
    const Counts &counts() const { return counts_; }

  private:
    void stall(Stall cause, Cycle cycles) {
        base_ += cycles;
        counts_.stalls[size_t(cause)] += cycles;
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
    void exclusive(const Step &step, uint64_t address, uint32_t size, uint32_t latency);
    void buffered_store(const Step &step, uint64_t address, uint32_t size, LineId line);
    LineId line_of(uint64_t address) const { return LineId(address / options_.line); }
    Cycle fence_latency(Fence kind) const;

    const Options &options_;
    uint32_t id_;
    Memory &memory_;
    Counts &counts_;
    StoreBuffer buffer_;
    Predictor predictor_;
    const Block *block_ = nullptr;
    Cycle base_ = 0, start_ = 0;
    Cycle ordered_until_ = 0; // an atomic stays behind the stores before an lwsync or a dmb st
    // Results that the last block but one, or earlier ones, still owe, from the last block's end.
    std::vector<Block::RegisterTime> owed_;
    bool reserving_ = false; // between a load-linked and its store-conditional
};

} // namespace lockcross
