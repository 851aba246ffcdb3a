// One simulated core: what its instructions do, and what it counts. How time passes is the matter
// of ScheduledCore and PipelinedCore.
#pragma once

#include "core/block.h"
#include "memory/cache_hierarchy.h"
#include "core/predictor.h"
#include "memory/store_buffer.h"

#include <memory>

namespace lockcross {

class Core {
  public:
    Core(const Options &options, uint32_t id, Memory &memory, Counts &counts);
    virtual ~Core() = default;

    // Ends the block before, if there is one, and begins next.
    virtual void enter(const Block &next) = 0;
    // Ends the current block without a successor.
    virtual void leave() = 0;

    // The cycle at which the step's access competes for its line; after before_access.
    virtual Cycle at(const Step &step) const = 0;
    // The cycle behind the current block.
    virtual Cycle end_of_block() const = 0;

    // What an access waits for before it is made, and before it competes for its line.
    virtual void before_access(const Step &step) = 0;
    // Accesses: the address counts from the image's start, size in bytes.
    virtual void load(const Step &step, uint64_t address, uint32_t size) = 0;
    virtual void store(const Step &step, uint64_t address, uint32_t size) = 0;
    void load_linked(const Step &step, uint64_t address, uint32_t size);
    // won: the functional outcome.
    void cas(const Step &step, uint64_t address, uint32_t size, bool won);
    void rmw(const Step &step, uint64_t address, uint32_t size);
    // accessed: false when it failed before it came to the memory.
    void store_conditional(const Step &step, uint64_t address, uint32_t size, bool accessed,
                           bool won);
    void fence(const Step &step);
    void charge(const Step &step);
    // The core begins its work at that cycle; its own cycles count from there.
    virtual void start_at(Cycle cycle) = 0;
    // Cycles from the core's start to the end of the current block.
    Cycle cycles() const { return end_of_block() - start_; }

    bool reservation_lost() const { return reserving_ && !memory_.reserved(id_); }
    Cycle stall_sum() const;
    const Counts &counts() const { return counts_; }

  protected:
    // An atomic operation that takes the line and then holds it for `latency`.
    virtual void exclusive(const Step &step, uint64_t address, uint32_t size, uint32_t latency) = 0;
    // A store-conditional that fails without an access.
    virtual void fail_conditional(const Step &step) = 0;
    virtual void wait_for_fence(const Step &step, Cycle latency) = 0;
    virtual void wait_for_charge(const Step &step, Cycle cycles) = 0;

    void count(Stall cause, Cycle cycles) { counts_.stalls[size_t(cause)] += cycles; }
    LineId line_of(uint64_t address) const { return LineId(address / options_.line); }
    Cycle fence_latency(Fence kind) const;

    const Options &options_;
    uint32_t id_;
    Memory &memory_;
    Counts &counts_;
    StoreBuffer buffer_;
    Predictor predictor_;
    const Block *block_ = nullptr;
    Cycle start_ = 0;

  private:
    bool reserving_ = false; // between a load-linked and its store-conditional
};

// The core that the options ask for.
std::unique_ptr<Core> make_core(const Options &options, uint32_t id, Memory &memory,
                                Counts &counts);

} // namespace lockcross
