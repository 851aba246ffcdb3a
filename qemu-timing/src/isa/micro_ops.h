// Micro-operations: what passes through a pipeline.
#pragma once

#include "base/options.h"
#include "base/registers.h"
#include "isa/insn.h"

#include <cstdint>
#include <vector>

namespace lockcross {

// The functional unit that executes it. None: it takes a place in the order, and nothing else.
enum class Unit : uint8_t { Simple, Multiply, Divide, Memory, None };

struct MicroOp {
    RegisterSet reads = 0, writes = 0;
    // A base register that an access updates: there a simple operation after what it is made of,
    // whatever else the micro-operation waits for.
    RegisterSet update_reads = 0, update_writes = 0;
    bool counted = false; // a stack engine does that as it renames
    Unit unit = Unit::Simple;
    bool first = false;   // of its instruction
    uint64_t address = 0; // of its instruction
    uint32_t size = 0;    // of its instruction, bytes
    uint8_t slots = 1;    // places that it takes in fetch, window and retirement
    bool loads = false;   // it takes an entry of the load queue
    bool pause = false;   // x86's hint in a spin loop
    bool fence = false; // a fence instruction, or one of the two fences of a locked x86 instruction
};

// Appends the micro-operations of the instruction at `address`, of `size` bytes. With
// micro_operations=1 those that Insn::micro_ops names; otherwise every instruction is one.
void append_micro_ops(const Insn &insn, uint64_t address, uint32_t size, const Options &options,
                      std::vector<MicroOp> &ops);

} // namespace lockcross
