// AArch64. Memory, branches and barriers come from the fields of the instruction, since Capstone 4
// lacks the atomics of ARMv8.1; the registers of the rest come from Capstone.
#include "base/counts.h"
#include "base/registers.h"
#include "isa/capstone_handle.h"
#include "isa/decoder.h"
#include "isa/insn.h"

#include <capstone/capstone.h>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace lockcross {

namespace {

constexpr RegisterSet kFlags = register_bit(32);
constexpr uint32_t kFirstCharge = 112; // hint number; docs/interfaces.md, section 5

RegisterSet field_bit(uint32_t word, unsigned shift) {
    unsigned reg = (word >> shift) & 31;
    return reg == 31 ? 0 : register_bit(reg); // 31 is the zero register
}
RegisterSet base_bit(uint32_t word) { return register_bit((word >> 5) & 31); } // 31 is sp

RegisterSet bit_of(uint16_t reg) {
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
        return register_bit(reg - ARM64_REG_W0);
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
        return register_bit(reg - ARM64_REG_X0);
    switch (reg) {
    case ARM64_REG_X29:
        return register_bit(29);
    case ARM64_REG_X30:
        return register_bit(30);
    case ARM64_REG_SP:
    case ARM64_REG_WSP:
        return register_bit(31);
    case ARM64_REG_NZCV:
        return kFlags;
    default:
        return 0;
    }
}

Branch branch_of(uint32_t w) {
    if ((w & 0xfc000000) == 0x14000000)
        return Branch::Direct;
    if ((w & 0xfc000000) == 0x94000000)
        return Branch::Call;
    if ((w & 0xff000010) == 0x54000000)
        return Branch::Conditional; // b.cond
    if ((w & 0x7e000000) == 0x34000000)
        return Branch::Conditional; // cbz, cbnz
    if ((w & 0x7e000000) == 0x36000000)
        return Branch::Conditional; // tbz, tbnz
    if ((w & 0xfffffc1f) == 0xd61f0000)
        return Branch::Indirect;
    if ((w & 0xfffffc1f) == 0xd63f0000)
        return Branch::IndirectCall;
    if ((w & 0xfffffc1f) == 0xd65f0000)
        return Branch::Return;
    return Branch::None;
}

Fence fence_of(uint32_t w) {
    uint32_t domain = (w >> 8) & 3; // 1: loads, 2: stores, 3: all
    if ((w & 0xfffff0ff) == 0xd50330bf) {
        return domain == 1 ? Fence::DmbLd : domain == 2 ? Fence::DmbSt : Fence::Dmb;
    }
    if ((w & 0xfffff0ff) == 0xd503309f)
        return Fence::Dsb;
    if ((w & 0xfffff0ff) == 0xd50330df)
        return Fence::Isb;
    return Fence::Count;
}

// Barriers and hints. Returns whether the instruction is one.
bool decode_system(uint32_t w, Insn &insn) {
    insn.fence = fence_of(w);
    if (insn.fence != Fence::Count) {
        insn.effect = Effect::Fence;
        return true;
    }
    if ((w & 0xfffff01f) != 0xd503201f)
        return false;
    insn.nop = true;
    uint32_t hint = (w >> 5) & 127;
    if (hint >= kFirstCharge && hint < kFirstCharge + uint32_t(Charge::Count)) {
        insn.effect = Effect::Charge;
        insn.charge = Charge(hint - kFirstCharge);
    }
    return true;
}

// Load-acquire, store-release, exclusives and compare-and-swap: "load/store exclusive" in the Arm
// architecture's encoding index. Returns whether the instruction is one.
bool decode_ordered(uint32_t w, Insn &insn) {
    if ((w & 0x3f000000) != 0x08000000)
        return false;
    bool o2 = w >> 23 & 1, load = w >> 22 & 1, o1 = w >> 21 & 1, o0 = w >> 15 & 1;
    insn.latency = Latency::Load;
    insn.reads = base_bit(w);
    if (o2 && o1) {
        insn.effect = Effect::Cas;
        insn.acquire = load;
        insn.release = o0;
        insn.reads |= field_bit(w, 16) | field_bit(w, 0);
        insn.writes = field_bit(w, 16);
        return true;
    }
    if (load) {
        insn.effect = o2 ? Effect::Memory : Effect::LoadLinked;
        insn.acquire = o0;
        insn.writes = field_bit(w, 0);
    } else {
        insn.effect = o2 ? Effect::Memory : Effect::StoreConditional;
        insn.release = o0;
        insn.reads |= field_bit(w, 0);
        if (!o2)
            insn.writes = field_bit(w, 16);
    }
    return true;
}

// Atomic memory operations of ARMv8.1, and LDAPR. Returns whether the instruction is one.
bool decode_atomic(uint32_t w, Insn &insn) {
    if ((w & 0x3b200c00) != 0x38200000)
        return false;
    insn.latency = Latency::Load;
    insn.reads = base_bit(w);
    insn.writes = field_bit(w, 0);
    if ((w & 0x3ffffc00) == 0x38bfc000) {
        insn.effect = Effect::Memory; // LDAPR: an acquire that may pass an earlier release
        return true;
    }
    insn.effect = Effect::Rmw;
    insn.reads |= field_bit(w, 16);
    insn.acquire = w >> 23 & 1;
    insn.release = w >> 22 & 1;
    return true;
}

// Aliases whose registers Capstone 4 gets wrong: it counts the first operand of cmp, cmn and tst as
// written, and the target of mov, lsl, sxtw and the like as read. Returns whether the instruction
// is one of them.
bool decode_alias(uint32_t w, Insn &insn) {
    bool add_immediate = (w & 0x3f00001f) == 0x3100001f; // cmp, cmn
    bool add_register = (w & 0x3f00001f) == 0x2b00001f;  // shifted or extended
    bool test_immediate = (w & 0x7f80001f) == 0x7200001f;
    bool test_register = (w & 0x7f20001f) == 0x6a00001f;
    if (add_immediate || add_register || test_immediate || test_register) {
        bool extended = add_register && (w & 0x00200000);
        insn.reads = add_immediate || extended ? base_bit(w) : field_bit(w, 5);
        if (add_register || test_register)
            insn.reads |= field_bit(w, 16);
        insn.writes = kFlags;
        return true;
    }
    bool move = (w & 0x1f800000) == 0x12800000 && (w & 0x60000000) != 0x60000000;  // movz, movn
    bool field = (w & 0x1f800000) == 0x13000000 && (w & 0x60000000) != 0x20000000; // ubfm, sbfm
    bool system = (w & 0xfff00000) == 0xd5300000;                                  // mrs
    if (!move && !field && !system)
        return false;
    insn.reads = field ? field_bit(w, 5) : 0;
    insn.writes = field_bit(w, 0);
    return true;
}

bool is_pair(uint32_t w) { return (w & 0x3a000000) == 0x28000000; } // ldp, stp, ldpsw

// As gem5 cracks it: adding up the address of a pair and writing the base register back are
// operations of their own, and a pair of 64-bit registers is stored by two stores.
void crack(uint32_t w, Insn &insn) {
    bool pair = is_pair(w), load = w >> 22 & 1;
    bool post = insn.address_writes && (pair ? (w >> 23 & 3) == 1 : (w >> 10 & 3) == 1);
    bool wide = w >> 31;
    if (!pair && !insn.address_writes)
        return;
    size_t count = 0;
    if (pair && !post)
        insn.micro_ops[count++] = 'o';
    if (pair && !load && wide)
        insn.micro_ops[count++] = 's';
    insn.micro_ops[count++] = load ? 'l' : 's';
    if (insn.address_writes)
        insn.micro_ops[count++] = 'o';
}

class ArmDecoder : public Decoder {
  public:
    Insn decode(const uint8_t *code, size_t size, uint64_t address) override {
        Insn insn;
        uint32_t w = instruction_word(code);
        if (decode_system(w, insn) || decode_ordered(w, insn) || decode_atomic(w, insn) ||
            decode_alias(w, insn))
            return insn;
        insn.branch = branch_of(w);
        if (insn.branch == Branch::Return)
            insn.reads |= base_bit(w);
        if ((w & 0x1f000000) == 0x1b000000)
            insn.latency = Latency::Mul;
        if ((w & 0x7fe0f800) == 0x1ac00800)
            insn.latency = Latency::Div;
        const cs_insn *c = capstone_.disassemble(code, size, address);
        if (c)
            capstone_.add_registers(c, insn.reads, insn.writes, bit_of);
        if ((w & 0x0a000000) == 0x08000000) {
            insn.effect = Effect::Memory;
            insn.latency = Latency::Load;
            if (c && c->detail->arm64.writeback) {
                insn.address_writes = base_bit(w);
                insn.writes &= ~insn.address_writes;
            }
            insn.address_reads = insn.reads;
            if (is_pair(w))
                insn.pair_bytes = w >> 31 ? 8 : 4;
            crack(w, insn);
        }
        return insn;
    }

  private:
    CapstoneHandle capstone_{CS_ARCH_ARM64, CS_MODE_ARM};
};

} // namespace

std::unique_ptr<Decoder> make_arm_decoder() { return std::make_unique<ArmDecoder>(); }

} // namespace lockcross
