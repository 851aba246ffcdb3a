// A core that issues out of order (window.h). What it says of memory:
// - A load executes when its address is there, whatever older stores wait for; one that overlaps an
//   older store takes its value from it: after `lat_forward` if it loads just what was stored,
//   after `lat_forward_part` if it loads a part of that; else it waits until the store has drained
//   and `forward_fail` cycles more. A load of what an atomic wrote waits for its end and
//   `atomic_tail`, and so do stores behind it, but not another atomic.
// - Stores retire in order, and then drain as `store_order` says. With time_of_flight QEMU makes
//   them when they retire, so that no core sees one earlier.
// - An atomic starts as `atomic_start` says; loads behind it wait for its end, or pass it
//   (`atomic_loads`). Two atomics never overlap, and stores behind one drain after it. Behind an
//   older store to its word it waits until that has drained, or takes the value from it
//   (`atomic_forward`). Where `atomic_result` is early, that of an atomic on a line that the core
//   owns is there like that of a load, and only what retires behind it waits for its end, and what
//   loads its word (`atomic_written`), unless it exchanges that for a register.
// - An atomic that may run at the line's home does as `returning_atomics` and `store_atomics` say.
//   One that returns no value then retires and drains as a store does.
// - A full fence waits until it is the oldest and all stores have drained, and loads behind it wait
//   for its end; if it is serializing (`full_fence`) all other work does, too, as behind isync,
//   isb, dsb and lfence.
// - A load that another core's store overtakes is timed with the value that QEMU gave it: the hold
//   rule (memory/memory.h) lets it wait for that store, as a replay would.
//
// A cycle in which nothing retires belongs to what kept the oldest micro-operation from retiring.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/micro_op_core.h"
#include "core_models/out_of_order/store_queue.h"
#include "core_models/out_of_order/window.h"
#include "isa/micro_ops.h"
#include "memory/line_id.h"
#include "memory/memory.h"

#include <cstddef>
#include <cstdint>

namespace lockcross {

class OutOfOrderCore final : public MicroOpCore {
  public:
    OutOfOrderCore(const Options &options, uint32_t id, Memory &memory, Counts &counts);

    void start_at(Cycle cycle) override;
    void before_access(const TimedInsn &insn) override;
    Cycle access_cycle(const TimedInsn &) const override { return turn_at_; }
    void load(const TimedInsn &insn, uint64_t address, uint32_t size) override;
    void store(const TimedInsn &insn, uint64_t address, uint32_t size) override;

  private:
    void atomic(const TimedInsn &insn, uint64_t address, uint32_t size, uint32_t latency) override;
    void fail_conditional(const TimedInsn &insn) override;
    void wait_for_fence(const TimedInsn &insn, Cycle latency) override;
    void wait_for_charge(const TimedInsn &insn, Cycle cycles, bool drained) override;
    void wait_for_interrupt(Cycle cycles) override;
    void wait_for_line(const AccessDelay &delay) override {
        note_wait(delay);
        access_at_ += delay.total();
        turn_at_ = access_at_;
    }
    void wait_behind_store(Cycle cycles) override;

    void run_to(size_t end) override;
    void resolve_branch(const Block &last, const Block &next) override;
    // Brings the current micro-operation into the window; returns when it can execute.
    Cycle enter();
    // The current micro-operation has its result at `done`; or it has that at `result` already.
    void finish(Cycle done) { finish(done, done); }
    void finish(Cycle result, Cycle done);
    // Runs a fence or a charge, whose operands are there at `ready`: it begins when it is the
    // oldest, and all stores have drained if it waits for that, and takes so long.
    Cycle run_alone(Cycle ready, bool drained, Stall cause, Cycle cycles);
    void full_fence(Cycle ready, Cycle latency);
    // Of the operation that an instruction makes with its operand from memory.
    Cycle latency_behind_load(const TimedInsn &insn) const;
    // Holds up a load until older stores that alias have executed, or squashes it (alias_bytes).
    void wait_for_aliases(uint64_t address, uint32_t size);
    void prefetch_m(uint64_t address, uint32_t size, Cycle when, CoherenceEvent access);
    // An atomic is one of four. It has left the core when it retires, as a store has, where it
    // returns no value (store_atomic). It runs at the line's home (far_atomic), or in the core;
    // there its result is there at its end (near_atomic), or early.
    bool drains_as_store(const TimedInsn &insn) const;
    bool is_far(const TimedInsn &insn, LineId line) const; // if it starts now
    bool is_early(LineId line) const;                      // the same
    void store_atomic(const TimedInsn &insn, uint64_t address, uint32_t size, Cycle latency);
    void far_atomic(const TimedInsn &insn, uint64_t address, uint32_t size, Cycle latency);
    void near_atomic(const TimedInsn &insn, uint64_t address, uint32_t size, Cycle latency);
    void early_atomic(const TimedInsn &insn, uint64_t address, uint32_t size, Cycle latency);
    // When an atomic that could start then reads its word; older: the store that wrote it, or null.
    Cycle wait_for_word(const StoreQueue::Store *older, uint64_t address, uint32_t size,
                        Cycle start);
    // The atomic has its line from `start` on; returns when it is done.
    Cycle run_near(LineId line, Cycle start, Cycle latency);
    // The atomic, whose end is its result, is done.
    void finish_atomic(const TimedInsn &insn, uint64_t address, uint32_t size, Cycle done);
    // One of several micro-operations: a load, a store and what orders them. Its load is done.
    static bool is_split(const TimedInsn &insn) { return insn.end_op - insn.first_op > 1; }
    void finish_split_atomic(const TimedInsn &insn, uint64_t address, uint32_t size, Cycle done);
    // The atomic has its result, is done, and others see what it wrote.
    void retire_atomic(Cycle result, Cycle done, Cycle written);
    void put_into_queue(const TimedInsn &insn, uint64_t address, uint32_t size, Cycle data);
    Cycle read(LineId first, LineId last, Cycle from);
    Cycle forwarded(const StoreQueue::Store &store, const TimedInsn &insn, uint64_t address,
                    uint32_t size, Cycle start) const;
    Cycle penalty_behind(const StoreQueue::Store &store) const;
    // Whether an atomic behind a store takes its word from it.
    bool forwards(const StoreQueue::Store &store, uint64_t address, uint32_t size) const;
    Cycle start_behind(const StoreQueue::Store &store, uint64_t address, uint32_t size,
                       Cycle start);
    // When the result of an early atomic is there, and what it writes: an exchange's is there
    // whatever its word holds.
    struct EarlyResult {
        Cycle result = 0, written = 0;
    };
    EarlyResult early_result(const TimedInsn &insn, uint64_t address, uint32_t size);

    Window window_;
    StoreQueue stores_;
    // The current micro-operation is an access, and has entered the window. Other cores may run
    // then:
    //
    //             before_access: enters, waits for what is in its way
    //     outside ---------------------------------------------------> entered, competes at
    //        ^                                                         access_at_
    //        |   load, store, atomic, fail_conditional: timed, has its result (finish)  |
    //        +--------------------------------------------------------------------------+
    //        |   run_to, for what follows: QEMU reported no access for it               |
    //        +--------------------------------------------------------------------------+
    bool entered_ = false;
    Cycle access_at_ = 0;
    Cycle turn_at_ = 0;                   // when QEMU makes it
    Cycle operands_at_ = 0;               // of an atomic that has entered: its operands are there
    Cycle loads_after_ = 0;               // no load before: an atomic, an acquire or a fence
    Cycle execute_after_ = 0;             // nothing at all before
    StoreQueue::Store last_atomic_store_; // of a near or far one
    Cycle last_atomic_ = 0;               // when it was done
    Cycle done_ = 0;                      // when the last micro-operation was done
    Cycle resolved_ = 0;                  // when it had its result
    Stall front_wait_ = Stall::Fetch;     // why it entered the window so late
};

} // namespace lockcross
