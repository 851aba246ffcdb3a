// A block of code as QEMU translated it, prepared once for the core models.
#pragma once

#include "base/options.h"
#include "core/schedule.h"
#include "isa/decoder.h"
#include "isa/insn.h"
#include "isa/micro_ops.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace lockcross {

struct Block;

// An instruction that the core models time each time it runs: an access, a fence or a charge. All
// others are timed with the block.
struct TimedInsn : Insn {
    uint32_t issue_cycle = 0;        // in the block's schedule
    size_t first_op = 0, end_op = 0; // its micro-operations in Block::ops, with a pipeline
    uint64_t pc = 0;
    const Block *block = nullptr;
};

struct Block {
    uint64_t pc = 0, fallthrough = 0; // first address, and the one after the last instruction
    const char *function = nullptr;   // as the program names it; null: it does not
    uint64_t branch_pc = 0;
    Branch branch = Branch::None; // of the last instruction
    uint32_t instructions = 0;
    std::deque<TimedInsn> timed; // their addresses are stable: callbacks keep pointers to them

    Schedule schedule; // for a core without a pipeline

    // For a core with a pipeline.
    std::vector<MicroOp> ops;
    bool unpredicted = false; // fetch does not know that the block ends in a branch
    // If so, the code that it fetches before the branch is known to be taken.
    std::vector<MicroOp> wrong_path;
};

class BlockBuilder {
  public:
    // function: that the code belongs to, or null.
    BlockBuilder(const Options &options, uint64_t pc, const char *function = nullptr);

    // Returns the instruction in the block if it is timed by itself, else null. The pointer lives
    // as long as the block.
    TimedInsn *add(const Insn &insn, uint64_t address, uint32_t size);

    // Notes the code after an unpredicted branch. code: at most `size` bytes at address.
    void add_wrong_path(Decoder &decoder, const uint8_t *code, size_t size, uint64_t address);

    std::unique_ptr<Block> finish();

  private:
    const Options &options_;
    Scheduler scheduler_;
    std::unique_ptr<Block> block_;
};

} // namespace lockcross
