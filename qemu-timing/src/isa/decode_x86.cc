// x86-64: what an instruction does with its operands, and with registers that it does not name
// (Intel SDM, volume 2). Bytes that hold no instruction of the general registers are unknown: no
// program of the study has others.
#include "base/counts.h"
#include "base/registers.h"
#include "isa/crack_x86.h"
#include "isa/decoder.h"
#include "isa/insn.h"
#include "isa/x86_instruction.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

namespace lockcross {

namespace {

using Op = X86Operation;
using Kind = X86Operand::Kind;

constexpr RegisterSet kAx = register_bit(0), kCx = register_bit(1), kDx = register_bit(2),
                      kBx = register_bit(3), kSp = register_bit(4), kBp = register_bit(5),
                      kSi = register_bit(6), kDi = register_bit(7), kR11 = register_bit(11),
                      kFlags = register_bit(32);
constexpr int64_t kChargeMarker = 0x4c580000; // docs/interfaces.md, section 5

// What an operation does with its first and second operand. A constant is neither read nor written.
enum class Use : uint8_t { None, Read, Write, Both };

// The flags are one register. An operation that changes some of them writes it, and does not wait
// for the others; one that may leave them all as they are still writes.
struct Meaning {
    Op operation;
    Use first = Use::None, second = Use::None;
    RegisterSet reads = 0, writes = 0; // that are not named
};

constexpr Meaning kMeanings[] = {
    {Op::Mov, Use::Write, Use::Read},
    {Op::Movabs, Use::Write, Use::Read},
    {Op::Movzx, Use::Write, Use::Read},
    {Op::Movsx, Use::Write, Use::Read},
    {Op::Movsxd, Use::Write, Use::Read},
    {Op::Movnti, Use::Write, Use::Read},
    {Op::Lea, Use::Write},
    {Op::Xchg, Use::Both, Use::Both},
    {Op::Push, Use::Read, Use::None, kSp},
    {Op::Pop, Use::Write, Use::None, kSp},
    {Op::Pushf, Use::None, Use::None, kSp | kFlags},
    {Op::Popf, Use::None, Use::None, kSp, kFlags},
    {Op::Leave, Use::None, Use::None, kBp, kBp},
    {Op::Add, Use::Both, Use::Read, 0, kFlags},
    {Op::Or, Use::Both, Use::Read, 0, kFlags},
    {Op::Adc, Use::Both, Use::Read, kFlags, kFlags},
    {Op::Sbb, Use::Both, Use::Read, kFlags, kFlags},
    {Op::And, Use::Both, Use::Read, 0, kFlags},
    {Op::Sub, Use::Both, Use::Read, 0, kFlags},
    {Op::Xor, Use::Both, Use::Read, 0, kFlags},
    {Op::Cmp, Use::Read, Use::Read, 0, kFlags},
    {Op::Test, Use::Read, Use::Read, 0, kFlags},
    {Op::Inc, Use::Both, Use::None, 0, kFlags},
    {Op::Dec, Use::Both, Use::None, 0, kFlags},
    {Op::Neg, Use::Both, Use::None, 0, kFlags},
    {Op::Not, Use::Both},
    {Op::Rol, Use::Both, Use::Read, 0, kFlags},
    {Op::Ror, Use::Both, Use::Read, 0, kFlags},
    {Op::Rcl, Use::Both, Use::Read, kFlags, kFlags},
    {Op::Rcr, Use::Both, Use::Read, kFlags, kFlags},
    {Op::Shl, Use::Both, Use::Read, 0, kFlags},
    {Op::Shr, Use::Both, Use::Read, 0, kFlags},
    {Op::Sar, Use::Both, Use::Read, 0, kFlags},
    {Op::Shld, Use::Both, Use::Read, 0, kFlags},
    {Op::Shrd, Use::Both, Use::Read, 0, kFlags},
    {Op::Mul, Use::Read, Use::None, kAx, kAx | kDx | kFlags},
    {Op::Imul, Use::Both, Use::Read, 0, kFlags}, // with two operands
    {Op::Div, Use::Read, Use::None, kAx | kDx, kAx | kDx | kFlags},
    {Op::Idiv, Use::Read, Use::None, kAx | kDx, kAx | kDx | kFlags},
    {Op::Cdqe, Use::None, Use::None, kAx, kAx},
    {Op::Cqo, Use::None, Use::None, kAx, kDx},
    {Op::Bt, Use::Read, Use::Read, 0, kFlags},
    {Op::Bts, Use::Both, Use::Read, 0, kFlags},
    {Op::Btr, Use::Both, Use::Read, 0, kFlags},
    {Op::Btc, Use::Both, Use::Read, 0, kFlags},
    {Op::Bsf, Use::Both, Use::Read, 0, kFlags}, // of 0 they leave the target as it is
    {Op::Bsr, Use::Both, Use::Read, 0, kFlags},
    {Op::Popcnt, Use::Write, Use::Read, 0, kFlags},
    {Op::Bswap, Use::Both},
    {Op::Xadd, Use::Both, Use::Both, 0, kFlags},
    {Op::Cmpxchg, Use::Both, Use::Read, kAx, kAx | kFlags},
    {Op::Cmpxchg8b, Use::Both, Use::None, kAx | kBx | kCx | kDx, kAx | kDx | kFlags},
    {Op::Cmov, Use::Both, Use::Read, kFlags},
    {Op::Set, Use::Write, Use::None, kFlags},
    {Op::Jcc, Use::None, Use::None, kFlags},
    {Op::Jrcxz, Use::None, Use::None, kCx},
    {Op::Loop, Use::None, Use::None, kCx, kCx},
    {Op::Loopcc, Use::None, Use::None, kCx | kFlags, kCx},
    {Op::Jmp, Use::Read},
    {Op::Call, Use::Read, Use::None, kSp},
    {Op::Ret, Use::None, Use::None, kSp},
    {Op::Movs, Use::None, Use::None, kSi | kDi | kFlags, kSi | kDi}, // the flags: the direction
    {Op::Stos, Use::None, Use::None, kAx | kDi | kFlags, kDi},
    {Op::Lods, Use::None, Use::None, kSi | kFlags, kSi | kAx},
    {Op::Scas, Use::None, Use::None, kAx | kDi | kFlags, kDi | kFlags},
    {Op::Cmps, Use::None, Use::None, kSi | kDi | kFlags, kSi | kDi | kFlags},
    {Op::Lahf, Use::None, Use::None, kFlags, kAx},
    {Op::Sahf, Use::None, Use::None, kAx, kFlags},
    {Op::Cmc, Use::None, Use::None, kFlags, kFlags},
    {Op::Clc, Use::None, Use::None, 0, kFlags},
    {Op::Stc, Use::None, Use::None, 0, kFlags},
    {Op::Cld, Use::None, Use::None, 0, kFlags},
    {Op::Std, Use::None, Use::None, 0, kFlags},
    {Op::Rdtsc, Use::None, Use::None, 0, kAx | kDx},
    {Op::Cpuid, Use::None, Use::None, kAx | kCx, kAx | kBx | kCx | kDx},
    {Op::Rdrand, Use::Write, Use::None, 0, kFlags},
    {Op::Syscall, Use::None, Use::None, kFlags, kCx | kR11 | kFlags},
};

Meaning meaning_of(const X86Instruction &x) {
    Meaning found{x.operation};
    for (const Meaning &one : kMeanings) {
        if (one.operation == x.operation)
            found = one;
    }
    const X86Operand &first = x.operands[0];
    if (x.operation == Op::Imul && x.operands[1].kind == Kind::None) {
        found = {Op::Imul, Use::Read, Use::None, kAx, kAx | kDx | kFlags};
    } else if (x.operation == Op::Imul && x.operands[2].kind != Kind::None) {
        found.first = Use::Write;
    }
    if (first.byte && (x.operation == Op::Mul || x.operation == Op::Imul ||
                       x.operation == Op::Div || x.operation == Op::Idiv)) {
        found.reads &= ~kDx; // all in ax
        found.writes &= ~kDx;
    }
    return found;
}

RegisterSet bit_of(const X86Operand &operand) {
    return operand.kind == Kind::Register ? register_bit(operand.reg) : 0;
}

RegisterSet address_of(const X86Instruction &x) {
    return (x.base < 0 ? 0 : register_bit(unsigned(x.base))) |
           (x.index < 0 ? 0 : register_bit(unsigned(x.index)));
}

void add_operand(const X86Operand &operand, Use use, Insn &insn) {
    if (use == Use::Read || use == Use::Both)
        insn.reads |= bit_of(operand);
    if (use == Use::Write || use == Use::Both)
        insn.writes |= bit_of(operand);
}

bool is_string(Op operation) {
    return operation == Op::Movs || operation == Op::Stos || operation == Op::Lods ||
           operation == Op::Scas || operation == Op::Cmps;
}

void decode_registers(const X86Instruction &x, Insn &insn) {
    Meaning meaning = meaning_of(x);
    insn.reads = meaning.reads | address_of(x);
    insn.writes = meaning.writes;
    add_operand(x.operands[0], meaning.first, insn);
    add_operand(x.operands[1], meaning.second, insn);
    add_operand(x.operands[2], Use::Read, insn);
    if (x.repeat && is_string(x.operation)) {
        insn.reads |= kCx;
        insn.writes |= kCx;
    }
}

Branch branch_of(const X86Instruction &x) {
    bool direct = x.operands[0].kind == Kind::Constant;
    switch (x.operation) {
    case Op::Jmp:
        return direct ? Branch::Direct : Branch::Indirect;
    case Op::Call:
        return direct ? Branch::Call : Branch::IndirectCall;
    case Op::Ret:
        return Branch::Return;
    case Op::Jcc:
    case Op::Jrcxz:
    case Op::Loop:
    case Op::Loopcc:
        return Branch::Conditional;
    default:
        return Branch::None;
    }
}

Fence fence_of(Op operation) {
    switch (operation) {
    case Op::Mfence:
        return Fence::Mfence;
    case Op::Lfence:
        return Fence::Lfence;
    case Op::Sfence:
        return Fence::Sfence;
    default:
        return Fence::Count;
    }
}

bool uses_stack(Op operation) {
    return operation == Op::Push || operation == Op::Pop || operation == Op::Call ||
           operation == Op::Ret || operation == Op::Leave || operation == Op::Pushf ||
           operation == Op::Popf;
}

// Whether it writes what it loads, with no operation in between.
bool only_moves(Op operation) {
    return operation == Op::Mov || operation == Op::Movabs || operation == Op::Movzx ||
           operation == Op::Movsx || operation == Op::Movsxd || operation == Op::Movnti ||
           operation == Op::Xchg || operation == Op::Cmpxchg || operation == Op::Movs ||
           operation == Op::Stos || operation == Op::Lods || uses_stack(operation);
}

constexpr uint64_t kStack = 1;

// base: -1 where there is none.
uint64_t form_of(int base, int64_t displacement) {
    return (uint64_t(base + 2) << 32) ^ (uint64_t(displacement) << 1) ^ 2;
}

// behind: the address of the next instruction.
void decode_memory(const X86Instruction &x, int64_t behind, Insn &insn) {
    if (uses_stack(x.operation)) {
        insn.effect = Effect::Memory;
        insn.address_writes = kSp;
        insn.stack = true;
        insn.address_reads = insn.update_reads = x.operation == Op::Leave ? kBp : kSp;
        insn.address_form = kStack; // a core keeps count of what is pushed
        insn.latency = Latency::Load;
    }
    bool accesses = x.memory() && x.operation != Op::Lea && x.operation != Op::Prefetch &&
                    x.operation != Op::Clflush;
    if (!accesses && !is_string(x.operation))
        return;
    insn.address_reads |= is_string(x.operation) ? insn.reads & (kSi | kDi) : address_of(x);
    if (x.memory() && x.index < 0)
        insn.address_form = form_of(x.base, x.displacement + (x.rip_relative ? behind : 0));
    insn.effect = Effect::Memory;
    if (only_moves(x.operation)) {
        insn.latency = Latency::Load;
    } else {
        insn.load_op = true;
    }
    if (x.lock || x.operation == Op::Xchg) {
        bool compares = x.operation == Op::Cmpxchg || x.operation == Op::Cmpxchg8b;
        insn.effect = compares ? Effect::Cas : Effect::Rmw;
        insn.exchanges = x.operation == Op::Xchg;
        insn.acquire = insn.release = true;
    }
}

// Of registers of 4 or 8 bytes: what a processor can do as it renames them.
void decode_renamed(const X86Instruction &x, Insn &insn) {
    const X86Operand &to = x.operands[0], &from = x.operands[1];
    if (to.kind != Kind::Register || from.kind != Kind::Register || to.byte || x.narrow)
        return;
    insn.copies = x.operation == Op::Mov;
    insn.zeroes = (x.operation == Op::Xor || x.operation == Op::Sub) && to.reg == from.reg;
}

void decode_nop(const X86Instruction &x, Insn &insn) {
    insn.nop = true;
    int64_t kind = x.displacement - kChargeMarker;
    if (!x.memory() || kind < 0 || kind >= int64_t(Charge::Count))
        return;
    insn.effect = Effect::Charge;
    insn.charge = Charge(kind);
}

class X86Decoder : public Decoder {
  public:
    Insn decode(const uint8_t *code, size_t size, uint64_t address) override {
        Insn insn;
        X86Instruction x;
        X86Fault fault = take_apart_x86(code, size, x);
        insn.cut_off = fault == X86Fault::CutOff;
        insn.known = fault != X86Fault::Unknown;
        if (fault != X86Fault::None)
            return insn;
        insn.micro_ops = crack_x86(x);
        insn.size = x.length;
        if (x.operation == Op::Nop) {
            decode_nop(x, insn);
            return insn;
        }
        decode_registers(x, insn);
        insn.branch = branch_of(x);
        insn.pause = x.operation == Op::Pause;
        insn.fence = fence_of(x.operation);
        if (insn.fence != Fence::Count) {
            insn.effect = Effect::Fence;
            return insn;
        }
        if (x.operation == Op::Imul || x.operation == Op::Mul)
            insn.latency = Latency::Mul;
        if (x.operation == Op::Idiv || x.operation == Op::Div)
            insn.latency = Latency::Div;
        decode_memory(x, int64_t(address + x.length), insn);
        decode_renamed(x, insn);
        return insn;
    }
};

} // namespace

std::unique_ptr<Decoder> make_x86_decoder() { return std::make_unique<X86Decoder>(); }

} // namespace lockcross
