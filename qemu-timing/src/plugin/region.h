// A region of interest while it runs: the simulated cores, whose turn it is, and the guest's
// memory.
//
// Every guest thread is a host thread, and exactly one of them runs at a time: the one whose next
// memory access has the smallest (cycle, core number). A thread stops before an access that lies
// beyond its limit, hands the turn over, and sleeps until its own comes. So QEMU performs the
// accesses in simulated-time order whatever the host does.
#pragma once

#include "core/core.h"
#include "plugin/turn_order.h"
#include "output/report.h"

#include <atomic>
#include <memory>
#include <vector>

namespace lockcross {

// The program's image, which holds all memory that the guest uses.
struct Image {
    uint64_t begin = 0, end = 0; // guest addresses
    uint8_t *host = nullptr;     // where `begin` lies in this process
};

class Region;

// One guest thread inside the region. The callbacks of its instructions come here.
class Runner {
  public:
    Runner(Region &region, uint32_t id, const Options &options, Memory &memory, Counts &counts);

    void enter_block(const Block &block) {
        resolve();
        core->enter(block);
        if (slice_word_ && core->end_of_block() >= slice_end_)
            end_slice();
        if (core->counts().instructions > next_check)
            check_limit();
    }
    // Before an access: waits for the turn.
    void gate(const Step &step) {
        resolve();
        core->before_access(step);
        if (int64_t(core->at(step)) > limit)
            hand_over(core->at(step));
    }

    void before_store_conditional(const Step &step);
    // After an access; address counts from the image's start, size in bytes.
    void access(const Step &step, uint64_t address, uint32_t size, bool is_store);
    // From `cycles` from now on, bit 0 of the 4-byte word at `word` is cleared whenever a block
    // begins; no cycles: no more. word counts from the image's start.
    void set_timer(uint64_t word, Cycle cycles);
    // Accounts for the atomic operation whose outcome could not be seen when it was made.
    void resolve() {
        if (pending_)
            resolve_pending();
    }

    uint32_t id() const { return id_; }
    void wake();
    void sleep();

    const std::unique_ptr<Core> core;
    int64_t limit = 0;       // last cycle of an access without handing over
    uint64_t next_check = 0; // instructions at which the instruction limit is looked at again

  private:
    void resolve_pending();
    void restore();
    void check_limit();
    void hand_over(Cycle cycle);
    void end_slice();

    Region &region_;
    Counts &counts_;
    uint32_t id_;
    std::atomic<uint32_t> turn_{0}; // futex word: 1 when it is this thread's turn
    const Step *pending_ = nullptr;
    uint64_t address_ = 0; // of the pending operation
    uint32_t size_ = 0;
    bool accessed_ = false;
    uint64_t linked_ = 0;           // address of the last load-linked
    bool perturbed_ = false;        // see before_store_conditional
    uint8_t *slice_word_ = nullptr; // of the timer; null: it is off
    Cycle slice_end_ = 0;
};

class Region {
  public:
    Region(const Options &options, Image image, uint32_t cores, std::string isa);

    Runner &runner(uint32_t core) { return *runners_[core]; }
    void start();
    // The core is through; returns true when all are.
    bool finish(uint32_t core);
    void mark(uint32_t core, uint64_t phase);
    // Where the core is in simulated time; right only at the end of a block.
    Cycle now(uint32_t core);
    void hand_over(uint32_t core, Cycle cycle);
    // The engine writes into the guest's memory, in no time.
    void poke(uint64_t address, const void *bytes, size_t size);
    // Writes the document to options.out. Fails (exit code 4) when it cannot, or when the stalls of
    // a core do not add up to its cycles.
    void write_report(bool complete);

    const Options &options;
    const Image image;
    std::vector<uint8_t> shadow; // the image as of the last access, to see what an atomic changed

    uint64_t instructions() const;
    uint32_t cores() const { return uint32_t(runners_.size()); }

  private:
    void pass_turn();

    std::vector<Counts> counts_;
    Memory memory_;
    Order order_;
    std::vector<std::unique_ptr<Runner>> runners_;
    std::vector<Cycle> cycles_; // of each core
    Report report_;
};

// Fails (exit code 4) when it cannot be written.
void write_file(const std::string &path, const std::string &bytes);

// One line on standard error, then the end of the process.
[[noreturn]] void fail(int code, const std::string &message);

} // namespace lockcross
