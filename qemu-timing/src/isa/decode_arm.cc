// AArch64, from the fields of the instruction. The functions follow the groups of the encoding
// index (Arm Architecture Reference Manual, DDI 0487, C4.1). Vector and floating-point instructions
// are unknown, but for their loads and stores: no program of the study has them.
#include "base/counts.h"
#include "base/registers.h"
#include "isa/decoder.h"
#include "isa/insn.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lockcross {

namespace {

constexpr RegisterSet kFlags = register_bit(32);
constexpr RegisterSet kLink = register_bit(30);
constexpr uint32_t kFirstCharge = 112; // hint number; docs/interfaces.md, section 5

struct Fields {
    uint32_t word;

    // Bits high to low, both counted.
    constexpr uint32_t bits(unsigned high, unsigned low) const {
        return word >> low & ((2u << (high - low)) - 1);
    }
    constexpr bool bit(unsigned place) const { return word >> place & 1; }

    // A register field in which 31 is the zero register.
    RegisterSet at(unsigned low) const {
        uint32_t reg = bits(low + 4, low);
        return reg == 31 ? 0 : register_bit(reg);
    }
    // One in which 31 is the stack pointer.
    RegisterSet at_or_sp(unsigned low) const { return register_bit(bits(low + 4, low)); }

    // By their names in the manual.
    RegisterSet rd() const { return at(0); }
    RegisterSet rt() const { return at(0); }
    RegisterSet rn() const { return at(5); }
    RegisterSet ra() const { return at(10); }
    RegisterSet rt2() const { return at(10); }
    RegisterSet rm() const { return at(16); }
    RegisterSet rs() const { return at(16); }
    RegisterSet base() const { return at_or_sp(5); }
};

// Data processing, immediate.
void decode_immediate(Fields f, Insn &insn) {
    switch (f.bits(25, 23)) {
    case 0b000:
    case 0b001: // adr, adrp
        insn.writes = f.rd();
        return;
    case 0b010: // add, adds, sub, subs; cmp, cmn
        insn.reads = f.base();
        insn.writes = f.bit(29) ? f.rd() | kFlags : f.at_or_sp(0);
        return;
    case 0b011: // addg, subg
        insn.reads = f.base();
        insn.writes = f.at_or_sp(0);
        return;
    case 0b100: // and, orr, eor, ands; mov, tst
        insn.reads = f.rn();
        insn.writes = f.bits(30, 29) == 3 ? f.rd() | kFlags : f.at_or_sp(0);
        return;
    case 0b101: // movn, movz, movk
        insn.reads = f.bits(30, 29) == 3 ? f.rd() : 0;
        insn.writes = f.rd();
        return;
    case 0b110: // sbfm, bfm, ubfm
        insn.reads = f.rn() | (f.bits(30, 29) == 1 ? f.rd() : 0);
        insn.writes = f.rd();
        return;
    default: // extr
        insn.reads = f.rn() | f.rm();
        insn.writes = f.rd();
    }
}

// Add and subtract with carry, rmif, setf8, setf16.
void decode_with_carry(Fields f, Insn &insn) {
    if (f.bits(15, 10) == 0) { // adc, sbc
        insn.reads = f.rn() | f.rm() | kFlags;
        insn.writes = f.rd() | (f.bit(29) ? kFlags : 0);
        return;
    }
    insn.reads = f.rn() | kFlags;
    insn.writes = kFlags;
}

// Data processing, register.
void decode_register(Fields f, Insn &insn) {
    RegisterSet flags = f.bit(29) ? kFlags : 0;
    insn.reads = f.rn() | f.rm();
    insn.writes = f.rd();
    if (!f.bit(28)) {
        if (!f.bit(24)) { // logical; mov, mvn, tst
            insn.copies = f.bits(30, 29) == 1 && f.bits(23, 21) == 0 && f.bits(15, 5) == 31;
            insn.writes |= f.bits(30, 29) == 3 ? kFlags : 0;
            return;
        }
        insn.writes |= flags; // add, sub; cmp, cmn, neg
        if (f.bit(21)) {      // with an extended register
            insn.reads = f.base() | f.rm();
            insn.writes = flags ? f.rd() | flags : f.at_or_sp(0);
        }
        return;
    }
    if (f.bit(24)) { // madd, msub, smaddl, umulh, ...
        insn.latency = Latency::Mul;
        insn.reads |= f.ra();
        return;
    }
    switch (f.bits(23, 21)) {
    case 0b000:
        return decode_with_carry(f, insn);
    case 0b010: // ccmp, ccmn
        insn.reads = f.rn() | (f.bit(11) ? 0 : f.rm()) | kFlags;
        insn.writes = kFlags;
        return;
    case 0b100: // csel, csinc, csinv, csneg; cset, cinc
        insn.reads |= kFlags;
        return;
    case 0b110:
        if (f.bit(30)) { // one source: clz, rbit, rev
            insn.reads = f.rn();
            insn.known = f.bits(20, 16) == 0; // without pointer authentication
        } else if (f.bits(15, 11) == 1) {
            insn.latency = Latency::Div;
        } else if (f.bits(15, 10) == 0) { // subp, subps
            insn.writes |= flags;
        }
        return;
    default:
        insn = {};
        insn.known = false;
    }
}

Fence fence_of(Fields f) {
    switch (f.bits(7, 5)) {
    case 4:
        return Fence::Dsb;
    case 5: { // dmb; its domain: 1 loads, 2 stores, 3 all
        uint32_t domain = f.bits(9, 8);
        return domain == 1 ? Fence::DmbLd : domain == 2 ? Fence::DmbSt : Fence::Dmb;
    }
    case 6:
        return Fence::Isb;
    default:
        return Fence::Count; // clrex, sb
    }
}

void decode_hint(Fields f, Insn &insn) {
    insn.nop = true;
    uint32_t hint = f.bits(11, 5);
    if (hint >= kFirstCharge && hint < kFirstCharge + uint32_t(Charge::Count)) {
        insn.effect = Effect::Charge;
        insn.charge = Charge(hint - kFirstCharge);
    }
}

// msr, mrs, sys, sysl: a move between a register and one of the system's, of which NZCV alone is
// followed.
void decode_system_register(Fields f, Insn &insn) {
    constexpr uint32_t kNzcv = 0b11'011'0100'0010'000; // op0 to op2
    RegisterSet special = f.bits(20, 5) == kNzcv ? kFlags : 0;
    bool from_system = f.bit(21);
    insn.reads = from_system ? special : f.rt();
    insn.writes = from_system ? f.rt() : special;
}

// Hints, barriers, system instructions and moves.
void decode_system(Fields f, Insn &insn) {
    if ((f.word & 0xfffff01f) == 0xd503201f)
        return decode_hint(f, insn);
    if ((f.word & 0xfffff01f) == 0xd503301f) {
        insn.fence = fence_of(f);
        insn.effect = insn.fence == Fence::Count ? Effect::None : Effect::Fence;
        return;
    }
    if (f.bits(20, 19) != 0)
        return decode_system_register(f, insn);
    // Moves of a constant to a field of the processor's state: cfinv, xaflag and axflag change the
    // flags, the others nothing that is followed.
    if (f.bits(15, 12) == 4 && f.bits(18, 16) == 0 && f.bits(7, 5) < 3)
        insn.reads = insn.writes = kFlags;
}

// Branches, exceptions and system instructions.
void decode_branch(Fields f, Insn &insn) {
    if (f.bits(30, 26) == 0b00101) { // b, bl
        insn.branch = f.bit(31) ? Branch::Call : Branch::Direct;
        insn.writes = f.bit(31) ? kLink : 0;
    } else if (f.bits(31, 25) == 0b0101010) { // b.cond
        insn.branch = Branch::Conditional;
        insn.reads = kFlags;
    } else if (f.bits(30, 26) == 0b01101) { // cbz, cbnz, tbz, tbnz
        insn.branch = Branch::Conditional;
        insn.reads = f.rt();
    } else if (f.bits(31, 25) == 0b1101011) { // br, blr, ret
        uint32_t kind = f.bits(24, 21);
        insn.branch = kind == 0   ? Branch::Indirect
                      : kind == 1 ? Branch::IndirectCall
                                  : Branch::Return;
        insn.reads = f.rn();
        insn.writes = kind == 1 ? kLink : 0;
        insn.known = kind <= 2 && f.bits(15, 10) == 0; // without pointer authentication
    } else if (f.bits(31, 22) == 0b1101010100) {
        decode_system(f, insn);
    } else {
        insn.known = f.bits(31, 24) == 0b11010100; // svc, brk and the like
    }
}

// Load-acquire, store-release, exclusives and compare-and-swap.
void decode_ordered(Fields f, Insn &insn) {
    bool o2 = f.bit(23), load = f.bit(22), o1 = f.bit(21), o0 = f.bit(15);
    insn.latency = Latency::Load;
    insn.reads = f.base();
    bool swap_pair = !o2 && o1 && !f.bit(31);
    if (swap_pair || (o2 && o1)) { // casp, cas
        insn.effect = Effect::Cas;
        insn.may_be_far = true;
        insn.acquire = load;
        insn.release = o0;
        insn.writes = f.rs();
        if (swap_pair) // registers in pairs from an even one
            insn.writes |= f.rs() << 1;
        insn.reads |= insn.writes | f.rt() | (swap_pair ? f.rt() << 1 : 0);
        return;
    }
    RegisterSet data = f.rt() | (o1 ? f.rt2() : 0); // o1 here: an exclusive pair
    if (load) {
        insn.effect = o2 ? Effect::Memory : Effect::LoadLinked;
        insn.acquire = o0;
        insn.writes = data;
    } else {
        insn.effect = o2 ? Effect::Memory : Effect::StoreConditional;
        insn.release = o0;
        insn.reads |= data;
        if (!o2)
            insn.writes = f.rs();
    }
}

// Atomic memory operations of ARMv8.1, and LDAPR.
void decode_atomic(Fields f, Insn &insn) {
    insn.latency = Latency::Load;
    insn.reads = f.base();
    insn.writes = f.rt();
    if ((f.word & 0x3ffffc00) == 0x38bfc000) {
        insn.effect = Effect::Memory; // LDAPR: an acquire that may pass an earlier release
        return;
    }
    insn.effect = Effect::Rmw;
    insn.exchanges = (f.word & 0xf000) == 0x8000; // SWP
    insn.reads |= f.rs();
    insn.acquire = f.bit(23);
    insn.release = f.bit(22);
    insn.may_be_far = true;
    // STADD and its like are loads to the zero register that do not acquire.
    insn.returns = insn.exchanges || insn.acquire || f.rt();
}

// As gem5 cracks it: adding up the address of a pair and writing the base register back are
// operations of their own, and a pair of 64-bit registers is stored by two stores.
void crack(bool pair, bool load, bool wide, bool post_index, Insn &insn) {
    if (!pair && !insn.address_writes)
        return;
    size_t count = 0;
    if (pair && !post_index)
        insn.micro_ops[count++] = 'o';
    if (pair && !load && wide)
        insn.micro_ops[count++] = 's';
    insn.micro_ops[count++] = load ? 'l' : 's';
    if (insn.address_writes)
        insn.micro_ops[count++] = 'u';
}

// What a plain access does with its data, once `reads` has the registers of its address.
void access(Insn &insn, bool load, RegisterSet data) {
    insn.effect = Effect::Memory;
    insn.latency = Latency::Load;
    if (load)
        insn.writes = data;
    else
        insn.reads |= data;
    insn.address_reads = insn.reads;
}

void update_base(Fields f, RegisterSet made_of, Insn &insn) {
    insn.address_writes = f.base();
    insn.update_reads = made_of;
}

void decode_pair(Fields f, Insn &insn) {
    bool vector = f.bit(26), load = f.bit(22), wide = f.bit(31);
    uint32_t index = f.bits(24, 23); // 1: after the access, 3: before it
    insn.reads = f.base();
    access(insn, load, vector ? 0 : f.rt() | f.rt2());
    if (index & 1)
        update_base(f, f.base(), insn);
    insn.pair_bytes = vector ? uint8_t(4 << f.bits(31, 30)) : wide ? 8 : 4;
    if (!vector && f.bits(31, 30) == 1) // ldpsw, stgp
        insn.pair_bytes = load ? 4 : 8;
    crack(true, load, wide, index == 1, insn);
}

// One register, with any way to address but the program counter's.
void decode_single(Fields f, Insn &insn) {
    bool vector = f.bit(26), offset = f.bit(24), by_register = !offset && f.bit(21);
    uint32_t way = f.bits(11, 10); // 1: written back after the access, 3: before it
    uint32_t kind = f.bits(23, 22);
    bool load = vector ? kind & 1 : kind != 0;
    insn.reads = f.base() | (by_register ? f.rm() : 0);
    if (!vector && f.bits(31, 30) == 3 && kind == 2)
        return; // prfm: no access
    access(insn, load, vector ? 0 : f.rt());
    if (!offset && !by_register && (way & 1))
        update_base(f, f.base(), insn);
    crack(false, load, false, way == 1, insn);
}

// Loads and stores.
void decode_memory(Fields f, Insn &insn) {
    bool vector = f.bit(26);
    uint32_t group = f.bits(29, 28);
    if (group == 0 && !vector && !f.bit(24)) {
        decode_ordered(f, insn);
    } else if (group == 0 && vector) { // ld1 to st4
        insn.reads = f.base();
        access(insn, f.bit(22), 0);
        if (f.bit(23)) {
            insn.reads |= f.rm();
            update_base(f, f.base() | f.rm(), insn);
        }
    } else if (group == 1 && !f.bit(24)) { // by the program counter
        if (f.bits(31, 30) == 3 && !vector)
            return; // prfm
        access(insn, true, vector ? 0 : f.rt());
    } else if (group == 1 && !vector && !f.bit(21) && f.bits(11, 10) == 0) {
        bool load = f.bits(23, 22) != 0; // stlur, and ldapur as LDAPR
        insn.reads = f.base();
        access(insn, load, f.rt());
        insn.release = !load;
    } else if (group == 2) {
        decode_pair(f, insn);
    } else if (group == 3 && !vector && !f.bit(24) && f.bit(21) && f.bits(11, 10) == 0) {
        decode_atomic(f, insn);
    } else if (group == 3 && (f.bit(24) || !f.bit(21) || f.bits(11, 10) == 2)) {
        decode_single(f, insn);
    } else {
        insn.known = false;
    }
}

class ArmDecoder : public Decoder {
  public:
    Insn decode(const uint8_t *code, size_t, uint64_t) override {
        Insn insn;
        Fields f{instruction_word(code)};
        switch (f.bits(28, 25)) {
        case 0b1000:
        case 0b1001:
            decode_immediate(f, insn);
            break;
        case 0b1010:
        case 0b1011:
            decode_branch(f, insn);
            break;
        case 0b0100:
        case 0b0110:
        case 0b1100:
        case 0b1110:
            decode_memory(f, insn);
            break;
        case 0b0101:
        case 0b1101:
            decode_register(f, insn);
            break;
        default:
            insn.known = false; // udf, and what computes with vectors
        }
        return insn;
    }
};

} // namespace

std::unique_ptr<Decoder> make_arm_decoder() { return std::make_unique<ArmDecoder>(); }

} // namespace lockcross
