// What passes through a pipeline: micro-operations.
#pragma once

#include "isa/insn.h"

#include <vector>

namespace lockcross {

enum class Unit : uint8_t { Simple, Multiply, Divide, Memory, Free, Count };

struct MicroOp {
    uint64_t reads = 0, writes = 0; // registers, as bits
    Unit unit = Unit::Simple;       // Free: takes a place in the order, and nothing else
    bool first = false;             // of its instruction
    uint64_t address = 0;           // of its instruction
    uint32_t size = 0;              // of its instruction, bytes
    bool fence = false;             // Insn::fence, or one of the two of a locked x86 instruction
    bool charge = false;
};

// Appends those of an instruction. cracked: Insn::micro_ops counts; else each instruction is one.
void append_micro_ops(const Insn &insn, bool cracked, std::vector<MicroOp> &ops);

} // namespace lockcross
