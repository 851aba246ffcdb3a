// What the timing model knows of an instruction.
#pragma once

#include "base/counts.h"
#include "base/registers.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockcross {

enum class Latency : uint8_t { Alu, Mul, Div, Load };

// What an instruction does beyond its registers.
enum class Effect : uint8_t {
    None,
    Memory,           // plain loads and stores
    LoadLinked,       // lwarx, ldxr, ldaxr
    StoreConditional, // stwcx., stxr, stlxr
    Cas,              // lock cmpxchg, casa
    Rmw,              // any other atomic
    Fence,
    Charge,
    Count
};
constexpr std::array<const char *, size_t(Effect::Count)> kEffectNames = {
    "instruction", "access", "load-linked", "store-conditional",
    "CAS",         "atomic", "fence",       "charge"};

enum class Branch : uint8_t {
    None,
    Direct,
    Conditional,
    Indirect,
    Call,
    IndirectCall,
    Return,
    ConditionalReturn
};

// The kinds of an instruction's micro-operations, one letter each, in order: o a simple operation,
// i one that makes a constant, l a load, s a store, x a multiplication, d a division, f a full
// fence, u one that updates the base register of an access, n nothing. Ends with a zero.
using MicroOpKinds = std::array<char, 16>;

// Registers 0 to 31 are the general ones, 32 the condition flags (POWER: 32 to 39, one for each
// field), 40 and up the other special ones. What the model does not follow is in no set.
struct Insn {
    bool known = true;    // false: not one that the decoder knows; nothing else is set
    bool cut_off = false; // it goes on behind the bytes that were given; nothing else is set
    RegisterSet reads = 0;
    RegisterSet writes = 0;         // ready after `latency`
    RegisterSet address_writes = 0; // an updated base register: ready after a simple operation
    RegisterSet update_reads = 0;   // of `reads`, what that is made of
    bool stack = false;             // x86's push, pop, call and their like update it
    Latency latency = Latency::Alu;
    bool load_op = false; // computes with an operand from memory: `latency` begins when it is there
    Effect effect = Effect::None;
    Branch branch = Branch::None;
    Fence fence = Fence::Count;    // Count: none
    Charge charge = Charge::Count; // Count: none

    // Of a memory access; an acquire also waits for earlier release stores.
    bool acquire = false, release = false;
    uint8_t pair_bytes = 0; // of each of the two registers that it loads or stores; 0: no pair

    // For a core with a pipeline.
    MicroOpKinds micro_ops{};      // empty: the instruction is one micro-operation
    RegisterSet address_reads = 0; // of `reads`, what the micro-operations that load need
    bool plain_access = false;     // a load-linked or store-conditional that counts as plain there
    bool pause = false;            // x86's hint in a spin loop
    bool nop = false;              // it needs no unit
    bool zeroes = false;           // makes a register zero, whatever that held
    bool copies = false;           // copies a register whole
    bool exchanges = false;        // an atomic that writes a register, whatever its word holds
    bool may_be_far = false;       // an atomic that can run at its line's home
    bool returns = true;           // an atomic whose core learns what its word held
    // What the address of an access is made of, as a number: 0, or the same of two accesses whose
    // base register and displacement are the same.
    uint64_t address_form = 0;
    uint8_t size = 0; // bytes; only where instructions differ in size

    bool is_atomic() const {
        return effect == Effect::Cas || effect == Effect::Rmw || effect == Effect::StoreConditional;
    }
};

} // namespace lockcross
