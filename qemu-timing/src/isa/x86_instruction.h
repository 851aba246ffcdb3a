// An x86-64 instruction taken apart: its operation, operands and prefixes, from the bytes. What the
// operation does with its operands is decode_x86.cc's matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockcross {

// The operations of the general registers. Conditional ones are one each, whatever the condition.
// clang-format off
enum class X86Operation : uint8_t {
    Mov, Movabs, Movzx, Movsx, Movsxd, Movnti, Lea, Xchg, Push, Pop, Pushf, Popf, Leave,
    Add, Or, Adc, Sbb, And, Sub, Xor, Cmp, Test, Inc, Dec, Neg, Not,
    Rol, Ror, Rcl, Rcr, Shl, Shr, Sar, Shld, Shrd,
    Mul, Imul, Div, Idiv, Cdqe, Cqo,
    Bt, Bts, Btr, Btc, Bsf, Bsr, Popcnt, Bswap, Xadd, Cmpxchg, Cmpxchg8b,
    Cmov, Set, Jcc, Jrcxz, Loop, Loopcc, Jmp, Call, Ret,
    Movs, Stos, Lods, Scas, Cmps, // string operations, which count in rcx with a rep prefix
    Lahf, Sahf, Cmc, Clc, Stc, Cld, Std,
    Mfence, Lfence, Sfence, Nop, Pause, Prefetch, Clflush,
    Rdtsc, Cpuid, Rdrand, Syscall, Trap,
};
// clang-format on

struct X86Operand {
    enum class Kind : uint8_t { None, Register, Memory, Constant };
    Kind kind = Kind::None;
    uint8_t reg = 0; // its number, as instructions encode it: 0 rax, 1 rcx, ... 15 r15
    bool byte = false;
};

struct X86Instruction {
    X86Operation operation = X86Operation::Nop;
    std::array<X86Operand, 3> operands; // in Intel's order: what is written comes first
    // Of the operand in memory, -1 where it has none; the base -1 with `rip_relative`, too.
    int base = -1, index = -1;
    bool rip_relative = false;
    int64_t displacement = 0;
    bool lock = false, repeat = false; // its prefixes
    bool narrow = false;               // its operands have two bytes, but for those that say byte
    uint8_t length = 0;                // bytes

    const X86Operand *memory() const {
        for (const X86Operand &operand : operands) {
            if (operand.kind == X86Operand::Kind::Memory)
                return &operand;
        }
        return nullptr;
    }
    bool ends_in_constant() const {
        bool constant = false;
        for (const X86Operand &operand : operands) {
            if (operand.kind != X86Operand::Kind::None)
                constant = operand.kind == X86Operand::Kind::Constant;
        }
        return constant;
    }
};

enum class X86Fault : uint8_t { None, CutOff, Unknown };

// Takes the instruction apart that begins at `code`, where `size` bytes can be read.
X86Fault take_apart_x86(const uint8_t *code, size_t size, X86Instruction &found);

} // namespace lockcross
