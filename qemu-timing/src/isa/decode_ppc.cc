// 64-bit POWER, little-endian, from the fields of the instruction (Power ISA 3.0B, book I). Vector
// and floating-point instructions are unknown: no program of the study has them.
#include "base/counts.h"
#include "base/registers.h"
#include "isa/decoder.h"
#include "isa/insn.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

namespace lockcross {

namespace {

constexpr unsigned kLink = 40, kCount = 41, kCarry = 42;
// or rX,rX,rX (docs/interfaces.md, section 5): kinds 0 to 6 are those from 20 on, further ones
// those from 18 on, since 27 and what follows have meanings of their own.
constexpr unsigned kFirstCharge = 18, kKindAtFirst = 7;

constexpr RegisterSet bit(unsigned reg) { return register_bit(reg); }
constexpr RegisterSet cr_field(unsigned field) { return register_bit(32 + field); }

struct Fields {
    uint32_t word;
    unsigned opcode() const { return word >> 26; }
    unsigned rt() const { return word >> 21 & 31; } // also RS, BO
    unsigned ra() const { return word >> 16 & 31; } // also BI
    unsigned rb() const { return word >> 11 & 31; }
    unsigned xo10() const { return word >> 1 & 0x3ff; }
    unsigned xo9() const { return word >> 1 & 0x1ff; }
    unsigned xo5() const { return word >> 1 & 31; }
    bool low() const { return word & 1; } // Rc, LK
    RegisterSet ra_or_zero() const { return ra() ? bit(ra()) : 0; }
};

template <size_t N> bool one_of(unsigned value, const unsigned (&set)[N]) {
    return std::find(std::begin(set), std::end(set), value) != std::end(set);
}

void load(Insn &insn, const Fields &f, RegisterSet address, bool update) {
    insn.effect = Effect::Memory;
    insn.latency = Latency::Load;
    insn.reads = address;
    insn.writes = bit(f.rt());
    if (update)
        insn.address_writes = bit(f.ra());
}

void store(Insn &insn, const Fields &f, RegisterSet address, bool update) {
    insn.effect = Effect::Memory;
    insn.reads = address | bit(f.rt());
    if (update)
        insn.address_writes = bit(f.ra());
}

void conditional_branch(Insn &insn, const Fields &f, Branch always, Branch otherwise) {
    unsigned bo = f.rt();
    bool tests_condition = !(bo & 16), counts = !(bo & 4);
    if (tests_condition)
        insn.reads |= cr_field(f.ra() / 4);
    if (counts) {
        insn.reads |= bit(kCount);
        insn.writes |= bit(kCount);
    }
    insn.branch = tests_condition || counts ? otherwise : always;
    if (f.low())
        insn.writes |= bit(kLink);
}

void logical(Insn &insn, const Fields &f, RegisterSet reads, bool record) {
    insn.reads = reads;
    insn.writes = bit(f.ra());
    if (record)
        insn.writes |= cr_field(0);
}

void decode_19(Insn &insn, const Fields &f) {
    switch (f.xo10()) {
    case 16: // bclr
        insn.reads |= bit(kLink);
        conditional_branch(insn, f, Branch::Return, Branch::ConditionalReturn);
        if (f.low())
            insn.branch = Branch::IndirectCall;
        return;
    case 528: // bcctr
        insn.reads |= bit(kCount);
        conditional_branch(insn, f, f.low() ? Branch::IndirectCall : Branch::Indirect,
                           Branch::Conditional);
        return;
    case 150:
        insn.effect = Effect::Fence;
        insn.fence = Fence::Isync;
        return;
    case 0: // mcrf
        insn.reads = cr_field(f.ra() / 4);
        insn.writes = cr_field(f.rt() / 4);
        return;
    default: // operations on condition bits, which leave the other bits of the field
        insn.reads = cr_field(f.ra() / 4) | cr_field(f.rb() / 4) | cr_field(f.rt() / 4);
        insn.writes = cr_field(f.rt() / 4);
    }
}

// Loads, stores, load-reserves, store-conditionals and barriers of opcode 31. Returns whether the
// instruction is one.
bool decode_31_memory(Insn &insn, const Fields &f) {
    static const unsigned loads[] = {21, 23, 87, 279, 341, 343, 532, 534, 790};
    static const unsigned update_loads[] = {53, 55, 119, 311, 373, 375};
    static const unsigned stores[] = {149, 151, 215, 407, 660, 662, 918};
    static const unsigned update_stores[] = {181, 183, 247, 439};
    static const unsigned load_reserves[] = {20, 52, 84, 116};
    static const unsigned store_conditionals[] = {150, 214, 694, 726};
    unsigned xo = f.xo10();
    RegisterSet address = f.ra_or_zero() | bit(f.rb());
    if (one_of(xo, loads) || one_of(xo, update_loads)) {
        load(insn, f, address, one_of(xo, update_loads));
    } else if (one_of(xo, stores) || one_of(xo, update_stores)) {
        store(insn, f, address, one_of(xo, update_stores));
    } else if (one_of(xo, load_reserves)) {
        load(insn, f, address, false);
        insn.effect = Effect::LoadLinked;
        insn.plain_access = true; // as in gem5, which keeps the reservation outside of the memory
    } else if (one_of(xo, store_conditionals)) {
        store(insn, f, address, false);
        insn.effect = Effect::StoreConditional;
        insn.plain_access = true;
        insn.latency = Latency::Load;
        insn.writes = cr_field(0);
    } else if (xo == 598 || xo == 854) { // sync, eieio
        insn.effect = Effect::Fence;
        insn.fence = xo == 598 && (f.rt() & 3) != 1 ? Fence::Hwsync : Fence::Lwsync;
    } else {
        return false;
    }
    return true;
}

// The condition fields that mfocrf, mtcrf and mtocrf name: a bit for each, the highest for field 0.
RegisterSet named_fields(const Fields &f) {
    RegisterSet found = 0;
    for (unsigned field = 0; field < 8; field++) {
        if (f.word >> (19 - field) & 1)
            found |= cr_field(field);
    }
    return found;
}

void decode_31_moves(Insn &insn, const Fields &f) {
    static const unsigned cache_hints[] = {54, 86, 246, 278, 982}; // dcbst, dcbf, dcbt, icbi
    static const unsigned traps[] = {4, 68};                       // tw, td
    unsigned spr = f.ra() | f.rb() << 5;
    RegisterSet special = spr == 8   ? bit(kLink)
                          : spr == 9 ? bit(kCount)
                          : spr == 1 ? bit(kCarry)
                                     : 0;
    switch (f.xo10()) {
    case 339: // mfspr
        insn.reads = special;
        insn.writes = bit(f.rt());
        return;
    case 467: // mtspr
        insn.reads = bit(f.rt());
        insn.writes = special;
        return;
    case 19: // mfcr; mfocrf, which names its field
        insn.reads = f.word >> 20 & 1 ? named_fields(f) : RegisterSet(0xff) << 32;
        insn.writes = bit(f.rt());
        return;
    case 144: // mtcrf, mtocrf
        insn.reads = bit(f.rt());
        insn.writes = named_fields(f);
        return;
    case 371: // mftb
        insn.writes = bit(f.rt());
        return;
    default:
        insn.known = one_of(f.xo10(), cache_hints) || one_of(f.xo10(), traps);
        if (insn.known)
            insn.reads = (one_of(f.xo10(), traps) ? bit(f.ra()) : f.ra_or_zero()) | bit(f.rb());
    }
}

bool decode_31_arithmetic(Insn &insn, const Fields &f) {
    static const unsigned sums[] = {8, 10, 40, 104, 136, 138, 200, 202, 232, 234, 266};
    static const unsigned one_operand[] = {104, 200, 202, 232, 234}; // neg, addze, ...
    static const unsigned carry_in[] = {136, 138, 200, 202, 232, 234};
    static const unsigned products[] = {9, 11, 73, 75, 233, 235};
    static const unsigned quotients[] = {393, 395, 425, 427, 457, 459, 489, 491};
    static const unsigned remainders[] = {265, 267, 777, 779};
    unsigned xo = f.xo9();
    bool product = one_of(xo, products);
    bool quotient = one_of(xo, quotients) || one_of(f.xo10(), remainders);
    if (!one_of(xo, sums) && !product && !quotient)
        return false;
    insn.latency = product ? Latency::Mul : quotient ? Latency::Div : Latency::Alu;
    insn.reads = bit(f.ra());
    if (!one_of(xo, one_operand))
        insn.reads |= bit(f.rb());
    insn.writes = bit(f.rt());
    bool takes_carry = one_of(xo, carry_in);
    if (takes_carry)
        insn.reads |= bit(kCarry);
    if (takes_carry || xo == 8 || xo == 10)
        insn.writes |= bit(kCarry);
    if (f.low())
        insn.writes |= cr_field(0);
    return true;
}

bool decode_31_logical(Insn &insn, const Fields &f) {
    static const unsigned two[] = {24,  27,  28,  60,  124, 284, 316,
                                   412, 444, 476, 536, 539, 792, 794};
    static const unsigned one[] = {26,  58,  122, 154, 186, 378, 506, 538, 570,
                                   824, 826, 827, 890, 891, 922, 954, 986};
    unsigned xo = f.xo10();
    if (xo == 444 && f.rt() == f.ra() && f.rt() == f.rb()) { // or rX,rX,rX: a hint
        unsigned place = f.rt() - kFirstCharge, kinds = unsigned(Charge::Count);
        if (f.rt() < kFirstCharge || place >= kinds)
            return true;
        insn.effect = Effect::Charge;
        insn.charge = Charge((place + kKindAtFirst) % kinds);
        return true;
    }
    if (!one_of(xo, two) && !one_of(xo, one))
        return false;
    static const unsigned arithmetic_shifts[] = {792, 794, 824, 826, 827}; // to the right
    logical(insn, f, bit(f.rt()) | (one_of(xo, two) ? bit(f.rb()) : 0), f.low());
    if (one_of(xo, arithmetic_shifts))
        insn.writes |= bit(kCarry);
    return true;
}

void decode_31(Insn &insn, const Fields &f) {
    if (f.xo10() == 0 || f.xo10() == 32) { // cmp, cmpl
        insn.reads = bit(f.ra()) | bit(f.rb());
        insn.writes = cr_field(f.rt() >> 2);
    } else if (f.xo5() == 15) { // isel
        insn.reads = f.ra_or_zero() | bit(f.rb()) | cr_field((f.word >> 6 & 31) / 4);
        insn.writes = bit(f.rt());
    } else if (!decode_31_memory(insn, f) && !decode_31_logical(insn, f) &&
               !decode_31_arithmetic(insn, f)) {
        decode_31_moves(insn, f);
    }
}

// Opcodes 7 to 15: arithmetic and comparison with an immediate.
void decode_immediate(Insn &insn, const Fields &f) {
    unsigned opcode = f.opcode();
    if (opcode == 10 || opcode == 11) { // cmpli, cmpi
        insn.reads = bit(f.ra());
        insn.writes = cr_field(f.rt() >> 2);
        return;
    }
    insn.latency = opcode == 7 ? Latency::Mul : Latency::Alu;
    insn.reads = opcode >= 14 ? f.ra_or_zero() : bit(f.ra());
    insn.writes = bit(f.rt());
    if (opcode == 8 || opcode == 12 || opcode == 13)
        insn.writes |= bit(kCarry);
    if (opcode == 13)
        insn.writes |= cr_field(0);
}

// Opcodes 20 to 30: rotations and logic with an immediate.
void decode_rotate(Insn &insn, const Fields &f) {
    unsigned opcode = f.opcode();
    bool immediate_logic = opcode >= 24 && opcode <= 29;
    if (immediate_logic && f.rt() == f.ra() && (f.word & 0xffff) == 0 && opcode < 28) {
        insn.nop = true;
        return;
    }
    RegisterSet reads = bit(f.rt());
    bool inserts = opcode == 20 || (opcode == 30 && (f.word >> 2 & 7) == 3); // rlwimi, rldimi
    if (inserts)
        reads |= bit(f.ra());
    if (opcode == 23 || (opcode == 30 && (f.word >> 1 & 15) >= 8))
        reads |= bit(f.rb());
    bool record = immediate_logic ? opcode >= 28 : f.low();
    logical(insn, f, reads, record);
}

class PpcDecoder : public Decoder {
  public:
    Insn decode(const uint8_t *code, size_t, uint64_t) override {
        Fields f{instruction_word(code)};
        Insn insn;
        unsigned opcode = f.opcode();
        if (opcode >= 7 && opcode <= 15) {
            decode_immediate(insn, f);
        } else if (opcode == 16) {
            conditional_branch(insn, f, Branch::Direct, Branch::Conditional);
        } else if (opcode == 18) {
            insn.branch = f.low() ? Branch::Call : Branch::Direct;
            if (f.low())
                insn.writes = bit(kLink);
        } else if (opcode == 19) {
            decode_19(insn, f);
        } else if (opcode >= 20 && opcode <= 30) {
            decode_rotate(insn, f);
        } else if (opcode == 31) {
            decode_31(insn, f);
        } else if (opcode >= 32 && opcode <= 45) {
            bool stores = (opcode >= 36 && opcode <= 39) || opcode >= 44;
            (stores ? store : load)(insn, f, f.ra_or_zero(), opcode & 1);
        } else if (opcode == 58 || opcode == 62) {
            (opcode == 62 ? store : load)(insn, f, f.ra_or_zero(), (f.word & 3) == 1);
        } else if (opcode == 2 || opcode == 3) { // tdi, twi
            insn.reads = bit(f.ra());
        } else {
            insn.known = opcode == 17; // sc
        }
        return insn;
    }
};

} // namespace

std::unique_ptr<Decoder> make_ppc_decoder() { return std::make_unique<PpcDecoder>(); }

} // namespace lockcross
