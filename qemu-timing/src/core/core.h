// One simulated core: what its instructions do, and what it counts. How time passes is up to the
// core model that derives from it (core_models/).
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/branch_predictor.h"
#include "memory/line_id.h"
#include "memory/memory.h"
#include "memory/store_buffer.h"

#include <cstddef>
#include <cstdint>

namespace lockcross {

class Core {
  public:
    Core(const Options &options, uint32_t id, Memory &memory, Counts &counts);
    virtual ~Core() = default;

    // The core begins its work at that cycle; its own cycles count from there.
    virtual void start_at(Cycle cycle) = 0;
    // Ends the block before, if there is one, and begins the next.
    virtual void begin_block(const Block &next) = 0;
    // Ends the current block, which has no successor.
    virtual void end_block() = 0;
    // The cycle after the current block.
    virtual Cycle block_end() const = 0;

    // Accounts for what an access waits for before it competes for its line.
    virtual void before_access(const TimedInsn &insn) = 0;
    // The cycle at which the access competes for its line; valid after before_access.
    virtual Cycle access_cycle(const TimedInsn &insn) const = 0;

    // Accesses. Addresses count from the start of the image; sizes are in bytes.
    virtual void load(const TimedInsn &insn, uint64_t address, uint32_t size) = 0;
    virtual void store(const TimedInsn &insn, uint64_t address, uint32_t size) = 0;
    void load_linked(const TimedInsn &insn, uint64_t address, uint32_t size);
    // Behind before_access of a load-linked that follows a failed store-conditional to that
    // address: the access waits for its line (Memory::take_for_reservation).
    void take_for_reservation(const TimedInsn &insn, uint64_t address) {
        wait_for_line(memory_.take_for_reservation(id_, line_of(address), access_cycle(insn)));
    }
    // won: it changed memory.
    void cas(const TimedInsn &insn, uint64_t address, uint32_t size, bool won);
    void rmw(const TimedInsn &insn, uint64_t address, uint32_t size);
    // accessed: whether it accessed memory; if not, it failed.
    // lost: it had no reservation.
    void store_conditional(const TimedInsn &insn, uint64_t address, uint32_t size, bool accessed,
                           bool won, bool lost);
    void fence(const TimedInsn &insn);
    // sleep: of a wake, how the thread slept.
    void charge(const TimedInsn &insn, Sleep sleep = Sleep::Sleeps);
    // A process-wide barrier, for which so many other cores are interrupted: it begins when all of
    // this core's stores have drained.
    void barrier(const TimedInsn &insn, uint32_t interrupted);
    // Barriers of other cores interrupt this one so often, between two blocks: its stores drain,
    // and it does nothing else meanwhile.
    void interrupt(uint32_t times);
    // The store behind an unpark has given the permit to a thread that sleeps like this: the core
    // goes on when the rest of the unpark is over.
    void end_unpark(Sleep sleep);
    // When the store that was made last is seen by others, as far as is known.
    Cycle store_seen() const { return store_seen_; }

    // Whether the store-conditional of the last load-linked has to fail.
    bool reservation_lost(Cycle now) const { return reserving_ && !memory_.is_reserved(id_, now); }
    // From the core's start to the end of the current block.
    Cycle cycles() const { return block_end() - start_; }
    Cycle stall_sum() const;
    const Counts &counts() const { return counts_; }

  protected:
    // An atomic operation, which takes the line and then holds it for `latency`.
    virtual void atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                        uint32_t latency) = 0;
    // A store-conditional that fails without an access.
    virtual void fail_conditional(const TimedInsn &insn) = 0;
    virtual void wait_for_fence(const TimedInsn &insn, Cycle latency) = 0;
    // drained: it begins when all stores have drained.
    virtual void wait_for_charge(const TimedInsn &insn, Cycle cycles, bool drained) = 0;
    // The core's stores drain; so many cycles later it executes what comes next.
    virtual void wait_for_interrupt(Cycle cycles) = 0;
    // The access that comes next competes for its line later by that. A pipeline is without time of
    // flight, and so without such waits.
    virtual void wait_for_line(const AccessDelay &) {}
    // Part of a charge, behind the store that was made last. A pipeline has no such part: with it
    // threads sleep in one way (options.cc).
    virtual void wait_behind_store(Cycle) {}

    void count(Stall cause, Cycle cycles) { counts_.stalls[size_t(cause)] += cycles; }
    LineId line_of(uint64_t address) const { return LineId(address / options_.line); }

    const Options &options_;
    uint32_t id_;
    Memory &memory_;
    Counts &counts_;
    StoreBuffer store_buffer_;
    BranchPredictor predictor_;
    const Block *block_ = nullptr;
    Cycle start_ = 0;
    Cycle store_seen_ = 0;

  private:
    bool reserving_ = false; // between a load-linked and its store-conditional
};

} // namespace lockcross
