// A core whose micro-operations pass through a pipeline, and their accesses through a load and
// store queue; see Pipeline. As in gem5's MinorCPU:
// - A load is asked for when its operands are committed, out of the order of commit, at most two at
//   once; it commits with its data. A store commits into the store buffer.
// - A load-linked, an atomic of one micro-operation, a store-conditional and a release store wait
//   until they are the oldest, and the last two for the store buffer to drain.
// - A full fence commits at once; accesses behind it wait until every earlier store is done. So do
//   those behind what acquires or releases: it counts as a full fence.
//
// Invariant: clock_ is the core's start plus the sum of its stall counters.
#pragma once

#include "core/core.h"
#include "core_models/pipelined/pipeline.h"

namespace lockcross {

class PipelinedCore : public Core {
  public:
    PipelinedCore(const Options &options, uint32_t id, Memory &memory, Counts &counts);

    void enter(const Block &next) override;
    void leave() override;
    Cycle at(const Step &) const override { return asked_at_; }
    Cycle end_of_block() const override { return clock_; }
    void before_access(const Step &step) override { ask(step); }
    void load(const Step &step, uint64_t address, uint32_t size) override;
    void store(const Step &step, uint64_t address, uint32_t size) override;
    void start_at(Cycle cycle) override;

  private:
    void exclusive(const Step &step, uint64_t address, uint32_t size, uint32_t latency) override;
    void fail_conditional(const Step &step) override;
    void wait_for_fence(const Step &step, Cycle latency) override;
    void wait_for_charge(const Step &step, Cycle cycles) override;

    // Runs the block up to its micro-operation number `end`.
    void run_to(size_t end);
    // Runs up to the next access of the step and asks for it. False when there is none left: an
    // instruction's second access may be part of its first.
    bool ask(const Step &step);
    // When the access that was asked for is looked at again, if that was before `earlier`.
    struct Done {
        Cycle cycle = 0, seen = 0; // of a commit; see Pipeline::seen
    };
    Cycle queued_behind(Done earlier) const;
    // Sends it to the memory, which takes two at once; returns when.
    Cycle send(Cycle earliest);
    void sent(Cycle done) {
        (in_memory_[0] < in_memory_[1] ? in_memory_[0] : in_memory_[1]) = done;
    }
    Cycle read(LineId first, LineId last, Cycle from);
    void finish_access(const Step &step, Cycle done);
    void write_through(const Step &step, uint64_t address, uint32_t size, Event event,
                       Cycle latency);
    void enter_store_buffer(const Step &step, uint64_t address, uint32_t size, Event event);
    void fence_behind(Cycle committed);
    void resolve_branch(const Block &last, const Block &next);

    const MicroOp &current() const { return block_->ops[next_op_]; }
    void retire(Cycle earliest);
    // Cycles before the next commit that have a known cause.
    void wait(Stall cause, Cycle cycles) {
        if (cycles)
            waits_.push_back({cause, cycles});
    }
    void wait_for(const Fill &fill) {
        wait(Stall::Hold, fill.hold);
        wait(fill.cause, fill.latency);
    }

    Pipeline pipeline_;
    size_t next_op_ = 0;     // of the block
    bool asked_ = false;     // it is an access, issued but not committed
    Cycle asked_at_ = 0;     // when it came to the load and store queue
    Cycle fenced_until_ = 0; // no access is asked for before
    Cycle left_queue_ = 0;   // when the last access made room for the next to ask
    Done done_[2];           // commits of the last two accesses
    struct Awaited {
        Cycle from = 0, until = 0;
    };
    // When the last accesses were the oldest and not answered: meanwhile no other is asked for.
    std::array<Awaited, 4> awaited_{};
    Done stored_; // commit of the last store
    Done last_;   // last commit, as one that is about to access memory sees it
    Cycle in_memory_[2] = {};
    Cycle clock_ = 0; // behind the last commit

    struct Wait {
        Stall cause;
        Cycle cycles;
    };
    std::vector<Wait> waits_;
    Stall refetched_ = Stall::Dependence; // why the front end may be late
};

} // namespace lockcross
