// The static schedule of a block on an in-order core, made once.
#pragma once

#include "base/options.h"
#include "base/registers.h"
#include "isa/insn.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

struct Schedule {
    uint32_t length = 0;       // cycles from the first issue to the last, both counted
    uint32_t issue_cycles = 0; // those in which something issues
    uint32_t fetch_cycles = 0; // those in which the rest of an instruction is fetched

    struct RegisterTime {
        uint8_t reg;
        uint32_t cycle;
    };
    // Registers that come from outside, and the cycle in which each is first needed.
    std::vector<RegisterTime> first_use;
    // Results that are not ready when the block ends, in cycles from its end.
    std::vector<RegisterTime> late_results;
    uint32_t latest = 0; // the longest of `late_results`
    RegisterSet written = 0;

    // Cycles that this block waits for a result; result.cycle counts from the block's begin.
    uint32_t wait_for(const RegisterTime &result) const;

    // Cycles that the next block waits for results of this one.
    uint32_t delay_of(const Schedule &next) const;

  private:
    // The last successor and its delay, so that a loop works it out once.
    mutable const Schedule *last_next_ = nullptr;
    mutable uint32_t last_delay_ = 0;
};

// Places instructions one after another: in order, at most `width` a cycle, of them at most one
// memory access and one branch, none before its operands are ready. Loads are assumed to hit the
// L1. With fetch_bytes, each instruction is fetched by itself, one aligned chunk of that many bytes
// a cycle, and issues in the cycle of its last chunk.
class Scheduler {
  public:
    explicit Scheduler(const Options &options) : options_(options) {}

    // Returns the cycle in which the instruction issues, from the block's begin.
    uint32_t place(const Insn &insn, uint64_t address, uint32_t size);

    Schedule finish();

  private:
    uint32_t latency_of(const Insn &insn) const;
    uint32_t further_fetches(uint64_t address, uint32_t size) const;
    uint32_t issue(const Insn &insn, uint32_t earliest, uint32_t fetches);

    static constexpr size_t kRegisters = 64;
    const Options &options_;
    Schedule schedule_;
    bool empty_ = true;
    uint32_t cycle_ = 0, issued_ = 0; // cycle of the last issue, and how many issued in it
    bool memory_used_ = false, branch_used_ = false; // in that cycle
    std::array<uint32_t, kRegisters> ready_{};
    std::array<bool, kRegisters> needed_{}; // has an entry in first_use
};

} // namespace lockcross
