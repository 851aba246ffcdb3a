// x86-64, through Capstone.
#include "base/counts.h"
#include "base/registers.h"
#include "isa/capstone_handle.h"
#include "isa/crack_x86.h"
#include "isa/decoder.h"
#include "isa/insn.h"

#include <capstone/capstone.h>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace lockcross {

namespace {

constexpr RegisterSet kFlags = register_bit(32);
constexpr unsigned kStackPointer = 4;
constexpr int64_t kChargeMarker = 0x4c580000; // docs/interfaces.md, section 5

// The number of a general register of any width, as instructions encode it; -1 for the others.
int general_register(uint16_t reg) {
    static const uint16_t families[16][5] = {
        {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
        {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
        {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
        {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
        {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_INVALID},
        {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_INVALID},
        {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_INVALID},
        {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_INVALID},
        {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_INVALID},
        {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_INVALID},
        {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_INVALID},
        {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_INVALID},
        {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_INVALID},
        {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_INVALID},
        {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_INVALID},
        {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_INVALID}};
    for (int number = 0; number < 16; number++) {
        for (uint16_t name : families[number]) {
            if (name == reg && reg != X86_REG_INVALID)
                return number;
        }
    }
    return -1;
}

RegisterSet bit_of(uint16_t reg) {
    if (reg == X86_REG_EFLAGS)
        return kFlags;
    int number = general_register(reg);
    return number < 0 ? 0 : register_bit(unsigned(number));
}

Branch branch_of(const cs_insn *c) {
    bool immediate = c->detail->x86.op_count > 0 && c->detail->x86.operands[0].type == X86_OP_IMM;
    switch (c->id) {
    case X86_INS_JMP:
        return immediate ? Branch::Direct : Branch::Indirect;
    case X86_INS_CALL:
        return immediate ? Branch::Call : Branch::IndirectCall;
    case X86_INS_RET:
        return Branch::Return;
    default:
        break;
    }
    for (uint8_t i = 0; i < c->detail->groups_count; i++) {
        if (c->detail->groups[i] == X86_GRP_JUMP)
            return Branch::Conditional;
    }
    return Branch::None;
}

Fence fence_of(unsigned id) {
    switch (id) {
    case X86_INS_MFENCE:
        return Fence::Mfence;
    case X86_INS_LFENCE:
        return Fence::Lfence;
    case X86_INS_SFENCE:
        return Fence::Sfence;
    default:
        return Fence::Count;
    }
}

bool uses_stack(unsigned id) {
    return id == X86_INS_PUSH || id == X86_INS_POP || id == X86_INS_CALL || id == X86_INS_RET ||
           id == X86_INS_LEAVE || id == X86_INS_PUSHFQ || id == X86_INS_POPFQ;
}

const cs_x86_op *memory_operand(const cs_insn *c) {
    const cs_x86 &x86 = c->detail->x86;
    for (uint8_t i = 0; i < x86.op_count; i++) {
        if (x86.operands[i].type == X86_OP_MEM)
            return &x86.operands[i];
    }
    return nullptr;
}

// Whether it writes what it loads, with no operation in between.
bool only_moves(unsigned id) {
    return id == X86_INS_MOV || id == X86_INS_MOVZX || id == X86_INS_MOVSX ||
           id == X86_INS_MOVSXD || id == X86_INS_MOVABS || id == X86_INS_XCHG ||
           id == X86_INS_CMPXCHG || uses_stack(id);
}

void decode_memory(const cs_insn *c, Insn &insn) {
    const cs_x86_op *memory = memory_operand(c);
    if (uses_stack(c->id)) {
        insn.effect = Effect::Memory;
        insn.address_writes = insn.address_reads = register_bit(kStackPointer);
        insn.writes &= ~insn.address_writes;
        insn.latency = Latency::Load;
    }
    if (!memory || c->id == X86_INS_LEA)
        return;
    insn.address_reads |= bit_of(uint16_t(memory->mem.base)) | bit_of(uint16_t(memory->mem.index));
    insn.effect = Effect::Memory;
    if (only_moves(c->id)) {
        insn.latency = Latency::Load;
    } else {
        insn.load_op = true;
    }
    bool locked = c->detail->x86.prefix[0] == X86_PREFIX_LOCK;
    if (locked || c->id == X86_INS_XCHG) {
        insn.effect = c->id == X86_INS_CMPXCHG ? Effect::Cas : Effect::Rmw;
        insn.acquire = insn.release = true;
        insn.writes |= kFlags;
        if (c->id == X86_INS_CMPXCHG)
            insn.writes |= register_bit(0); // rax
    }
}

class X86Decoder : public Decoder {
  public:
    Insn decode(const uint8_t *code, size_t size, uint64_t address) override {
        Insn insn;
        const cs_insn *c = capstone_.disassemble(code, size, address);
        if (!c)
            return insn;
        insn.micro_ops = crack_x86(c);
        insn.size = uint8_t(c->size);
        if (c->id == X86_INS_NOP) {
            decode_charge(c, insn);
            return insn;
        }
        capstone_.add_registers(c, insn.reads, insn.writes, bit_of);
        insn.branch = branch_of(c);
        insn.pause = c->id == X86_INS_PAUSE;
        insn.nop = c->id == X86_INS_NOP;
        insn.fence = fence_of(c->id);
        if (insn.fence != Fence::Count) {
            insn.effect = Effect::Fence;
            return insn;
        }
        if (c->id == X86_INS_IMUL || c->id == X86_INS_MUL)
            insn.latency = Latency::Mul;
        if (c->id == X86_INS_IDIV || c->id == X86_INS_DIV)
            insn.latency = Latency::Div;
        decode_memory(c, insn);
        return insn;
    }

  private:
    static void decode_charge(const cs_insn *c, Insn &insn) {
        const cs_x86_op *memory = memory_operand(c);
        if (!memory)
            return;
        int64_t kind = memory->mem.disp - kChargeMarker;
        if (kind < 0 || kind >= int64_t(Charge::Count))
            return;
        insn.effect = Effect::Charge;
        insn.charge = Charge(kind);
    }

    CapstoneHandle capstone_{CS_ARCH_X86, CS_MODE_64};
};

} // namespace

std::unique_ptr<Decoder> make_x86_decoder() { return std::make_unique<X86Decoder>(); }

} // namespace lockcross
