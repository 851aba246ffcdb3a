// A translated block, scheduled once for an in-order core.
#pragma once

#include "isa/micro_ops.h"
#include "base/options.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace lockcross {

// An instruction with an effect beyond its registers, at its place in the block's schedule.
struct Step {
    uint32_t offset; // issue cycle, counted from the block's first cycle
    Insn insn;
    size_t first_op = 0, end_op = 0; // its micro-operations in the block, with a pipeline
};

struct Block {
    uint64_t pc = 0, fallthrough = 0; // first address, and the one behind the last instruction
    uint64_t branch_pc = 0;
    Branch branch = Branch::None; // of the last instruction
    uint32_t instructions = 0;
    uint32_t length = 0;         // cycles from the first issue to the last, both counted
    uint32_t issue_cycles = 0;   // those in which something issues
    uint32_t fetch_cycles = 0;   // those in which the rest of an instruction is fetched
    bool unpredicted = false;    // the fetch does not know that it ends in a branch
    std::vector<MicroOp> behind; // then: of the code that is fetched if the branch is taken
    std::vector<MicroOp> ops;    // with a pipeline
    std::deque<Step> steps;      // stable addresses: callbacks keep pointers to them

    struct RegisterTime {
        uint8_t reg;
        uint32_t cycle;
    };
    std::vector<RegisterTime> first_use; // offset at which a register from outside is needed
    std::vector<RegisterTime> late;      // cycles past the block's end until a result is ready

    uint32_t latest = 0;  // the longest of `late`
    uint64_t written = 0; // registers, as bits

    // Cycles that this block waits, from its start, for a result that comes at a cycle from there.
    uint32_t wait_for(const RegisterTime &result) const;

    // Cycles that next waits for results of this block.
    uint32_t wait_of(const Block &next) const;

    // The last successor and its wait, so that a loop computes it once.
    mutable const Block *last_next = nullptr;
    mutable uint32_t last_wait = 0;
};

// Schedules instructions one after another: in order, at most `width` a cycle, of them at most one
// memory access and one branch, none before its operands are ready. Loads are taken to hit the L1.
// With fetch_bytes, each instruction is fetched by itself, an aligned chunk of so many bytes a
// cycle, and issues in the cycle of its last chunk.
class BlockBuilder {
  public:
    BlockBuilder(const Options &options, uint64_t pc);

    // Returns the step of an instruction with an effect, else null. The pointer lives as long as
    // the block.
    Step *add(const Insn &insn, uint64_t address, uint32_t size);

    // Takes note of the code behind an unpredicted branch: it is fetched before the branch is
    // known to be taken. code: at most `size` bytes at address.
    void add_behind(Decoder &decoder, const uint8_t *code, size_t size, uint64_t address);

    std::unique_ptr<Block> finish();

  private:
    void append(const Insn &insn, uint64_t address, uint32_t size, std::vector<MicroOp> &ops);
    uint32_t latency_of(const Insn &insn) const;
    uint32_t fetches_after_first(uint64_t address, uint32_t size) const;
    uint32_t slot_for(const Insn &insn, uint32_t earliest, uint32_t fetches);

    static constexpr int kRegisters = 64;
    const Options &options_;
    std::unique_ptr<Block> block_;
    uint32_t cycle_ = 0, used_ = 0; // cycle of the last issue, and how many issued in it
    bool memory_used_ = false, branch_used_ = false;
    uint32_t ready_[kRegisters] = {};
    bool needed_[kRegisters] = {};
};

} // namespace lockcross
