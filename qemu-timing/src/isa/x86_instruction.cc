#include "isa/x86_instruction.h"

#include <iterator>
#include <string_view>
#include <vector>

namespace lockcross {

namespace {

using Op = X86Operation;
using Kind = X86Operand::Kind;

// Operands as in the manual's opcode map (Intel SDM, volume 2, appendix A.2): a letter for where it
// is and one for its size. E: register or memory of the ModRM byte, M: only memory, R: only a
// register; G: its other register; Z: register in the opcode; A: accumulator; I: constant; J:
// distance of a jump; O: memory at a constant address; C: the register cl, which counts. b: byte,
// w: two bytes, z: two or four, v: two, four or eight.
struct Row {
    uint16_t first, last; // opcodes; 0x0f.. those behind the byte 0f
    int8_t extension;     // field reg of the ModRM byte; -1: any
    Op operation;
    const char *operands;
};

constexpr Op kArithmetic[] = {Op::Add, Op::Or,  Op::Adc, Op::Sbb,
                              Op::And, Op::Sub, Op::Xor, Op::Cmp};
constexpr Op kShifts[] = {Op::Rol, Op::Ror, Op::Rcl, Op::Rcr, Op::Shl, Op::Shr, Op::Shl, Op::Sar};

constexpr Row kRows[] = {
    {0x50, 0x57, -1, Op::Push, "Zv"},
    {0x58, 0x5f, -1, Op::Pop, "Zv"},
    {0x63, 0x63, -1, Op::Movsxd, "GvEv"},
    {0x68, 0x68, -1, Op::Push, "Iz"},
    {0x69, 0x69, -1, Op::Imul, "GvEvIz"},
    {0x6a, 0x6a, -1, Op::Push, "Ib"},
    {0x6b, 0x6b, -1, Op::Imul, "GvEvIb"},
    {0x70, 0x7f, -1, Op::Jcc, "Jb"},
    {0x84, 0x84, -1, Op::Test, "EbGb"},
    {0x85, 0x85, -1, Op::Test, "EvGv"},
    {0x86, 0x86, -1, Op::Xchg, "EbGb"},
    {0x87, 0x87, -1, Op::Xchg, "EvGv"},
    {0x88, 0x88, -1, Op::Mov, "EbGb"},
    {0x89, 0x89, -1, Op::Mov, "EvGv"},
    {0x8a, 0x8a, -1, Op::Mov, "GbEb"},
    {0x8b, 0x8b, -1, Op::Mov, "GvEv"},
    {0x8d, 0x8d, -1, Op::Lea, "GvMv"},
    {0x8f, 0x8f, 0, Op::Pop, "Ev"},
    {0x90, 0x97, -1, Op::Xchg, "AvZv"},
    {0x98, 0x98, -1, Op::Cdqe, ""},
    {0x99, 0x99, -1, Op::Cqo, ""},
    {0x9c, 0x9c, -1, Op::Pushf, ""},
    {0x9d, 0x9d, -1, Op::Popf, ""},
    {0x9e, 0x9e, -1, Op::Sahf, ""},
    {0x9f, 0x9f, -1, Op::Lahf, ""},
    {0xa0, 0xa0, -1, Op::Movabs, "AbOb"},
    {0xa1, 0xa1, -1, Op::Movabs, "AvOv"},
    {0xa2, 0xa2, -1, Op::Movabs, "ObAb"},
    {0xa3, 0xa3, -1, Op::Movabs, "OvAv"},
    {0xa4, 0xa5, -1, Op::Movs, ""},
    {0xa6, 0xa7, -1, Op::Cmps, ""},
    {0xa8, 0xa8, -1, Op::Test, "AbIb"},
    {0xa9, 0xa9, -1, Op::Test, "AvIz"},
    {0xaa, 0xab, -1, Op::Stos, ""},
    {0xac, 0xad, -1, Op::Lods, ""},
    {0xae, 0xaf, -1, Op::Scas, ""},
    {0xb0, 0xb7, -1, Op::Mov, "ZbIb"},
    {0xb8, 0xbf, -1, Op::Mov, "ZvIv"},
    {0xc2, 0xc2, -1, Op::Ret, "Iw"},
    {0xc3, 0xc3, -1, Op::Ret, ""},
    {0xc6, 0xc6, 0, Op::Mov, "EbIb"},
    {0xc7, 0xc7, 0, Op::Mov, "EvIz"},
    {0xc9, 0xc9, -1, Op::Leave, ""},
    {0xcc, 0xcc, -1, Op::Trap, ""},
    {0xe0, 0xe1, -1, Op::Loopcc, "Jb"},
    {0xe2, 0xe2, -1, Op::Loop, "Jb"},
    {0xe3, 0xe3, -1, Op::Jrcxz, "Jb"},
    {0xe8, 0xe8, -1, Op::Call, "Jz"},
    {0xe9, 0xe9, -1, Op::Jmp, "Jz"},
    {0xeb, 0xeb, -1, Op::Jmp, "Jb"},
    {0xf4, 0xf4, -1, Op::Trap, ""},
    {0xf5, 0xf5, -1, Op::Cmc, ""},
    {0xf6, 0xf6, 0, Op::Test, "EbIb"},
    {0xf7, 0xf7, 0, Op::Test, "EvIz"},
    {0xf6, 0xf6, 2, Op::Not, "Eb"},
    {0xf7, 0xf7, 2, Op::Not, "Ev"},
    {0xf6, 0xf6, 3, Op::Neg, "Eb"},
    {0xf7, 0xf7, 3, Op::Neg, "Ev"},
    {0xf6, 0xf6, 4, Op::Mul, "Eb"},
    {0xf7, 0xf7, 4, Op::Mul, "Ev"},
    {0xf6, 0xf6, 5, Op::Imul, "Eb"},
    {0xf7, 0xf7, 5, Op::Imul, "Ev"},
    {0xf6, 0xf6, 6, Op::Div, "Eb"},
    {0xf7, 0xf7, 6, Op::Div, "Ev"},
    {0xf6, 0xf6, 7, Op::Idiv, "Eb"},
    {0xf7, 0xf7, 7, Op::Idiv, "Ev"},
    {0xf8, 0xf8, -1, Op::Clc, ""},
    {0xf9, 0xf9, -1, Op::Stc, ""},
    {0xfc, 0xfc, -1, Op::Cld, ""},
    {0xfd, 0xfd, -1, Op::Std, ""},
    {0xfe, 0xfe, 0, Op::Inc, "Eb"},
    {0xff, 0xff, 0, Op::Inc, "Ev"},
    {0xfe, 0xfe, 1, Op::Dec, "Eb"},
    {0xff, 0xff, 1, Op::Dec, "Ev"},
    {0xff, 0xff, 2, Op::Call, "Ev"},
    {0xff, 0xff, 4, Op::Jmp, "Ev"},
    {0xff, 0xff, 6, Op::Push, "Ev"},
    {0x0f05, 0x0f05, -1, Op::Syscall, ""},
    {0x0f0b, 0x0f0b, -1, Op::Trap, ""},
    {0x0f0d, 0x0f0d, -1, Op::Prefetch, "Mv"},
    {0x0f18, 0x0f18, -1, Op::Prefetch, "Mv"},
    {0x0f19, 0x0f1f, -1, Op::Nop, "Ev"},
    {0x0f31, 0x0f31, -1, Op::Rdtsc, ""},
    {0x0f40, 0x0f4f, -1, Op::Cmov, "GvEv"},
    {0x0f80, 0x0f8f, -1, Op::Jcc, "Jz"},
    {0x0f90, 0x0f9f, -1, Op::Set, "Eb"},
    {0x0fa2, 0x0fa2, -1, Op::Cpuid, ""},
    {0x0fa3, 0x0fa3, -1, Op::Bt, "EvGv"},
    {0x0fa4, 0x0fa4, -1, Op::Shld, "EvGvIb"},
    {0x0fa5, 0x0fa5, -1, Op::Shld, "EvGvCb"},
    {0x0fab, 0x0fab, -1, Op::Bts, "EvGv"},
    {0x0fac, 0x0fac, -1, Op::Shrd, "EvGvIb"},
    {0x0fad, 0x0fad, -1, Op::Shrd, "EvGvCb"},
    {0x0fae, 0x0fae, 5, Op::Lfence, "Rv"},
    {0x0fae, 0x0fae, 6, Op::Mfence, "Rv"},
    {0x0fae, 0x0fae, 7, Op::Sfence, "Rv"},
    {0x0fae, 0x0fae, 7, Op::Clflush, "Mv"},
    {0x0faf, 0x0faf, -1, Op::Imul, "GvEv"},
    {0x0fb0, 0x0fb0, -1, Op::Cmpxchg, "EbGb"},
    {0x0fb1, 0x0fb1, -1, Op::Cmpxchg, "EvGv"},
    {0x0fb3, 0x0fb3, -1, Op::Btr, "EvGv"},
    {0x0fb6, 0x0fb6, -1, Op::Movzx, "GvEb"},
    {0x0fb7, 0x0fb7, -1, Op::Movzx, "GvEw"},
    {0x0fb8, 0x0fb8, -1, Op::Popcnt, "GvEv"},
    {0x0fba, 0x0fba, 4, Op::Bt, "EvIb"},
    {0x0fba, 0x0fba, 5, Op::Bts, "EvIb"},
    {0x0fba, 0x0fba, 6, Op::Btr, "EvIb"},
    {0x0fba, 0x0fba, 7, Op::Btc, "EvIb"},
    {0x0fbb, 0x0fbb, -1, Op::Btc, "EvGv"},
    {0x0fbc, 0x0fbc, -1, Op::Bsf, "GvEv"},
    {0x0fbd, 0x0fbd, -1, Op::Bsr, "GvEv"},
    {0x0fbe, 0x0fbe, -1, Op::Movsx, "GvEb"},
    {0x0fbf, 0x0fbf, -1, Op::Movsx, "GvEw"},
    {0x0fc0, 0x0fc0, -1, Op::Xadd, "EbGb"},
    {0x0fc1, 0x0fc1, -1, Op::Xadd, "EvGv"},
    {0x0fc3, 0x0fc3, -1, Op::Movnti, "MvGv"},
    {0x0fc7, 0x0fc7, 1, Op::Cmpxchg8b, "Mv"},
    {0x0fc7, 0x0fc7, 6, Op::Rdrand, "Rv"},
    {0x0fc7, 0x0fc7, 7, Op::Rdrand, "Rv"},
    {0x0fc8, 0x0fcf, -1, Op::Bswap, "Zv"},
};

// kRows, and those that stand for eight operations each.
std::vector<Row> all_rows() {
    std::vector<Row> rows(std::begin(kRows), std::end(kRows));
    auto add = [&](unsigned opcode, int extension, Op operation, const char *operands) {
        rows.push_back(
            {uint16_t(opcode), uint16_t(opcode), int8_t(extension), operation, operands});
    };
    for (int i = 0; i < 8; i++) {
        unsigned opcode = unsigned(8 * i);
        for (const char *operands : {"EbGb", "EvGv", "GbEb", "GvEv", "AbIb", "AvIz"})
            add(opcode++, -1, kArithmetic[i], operands);
        add(0x80, i, kArithmetic[i], "EbIb");
        add(0x81, i, kArithmetic[i], "EvIz");
        add(0x83, i, kArithmetic[i], "EvIb");
        add(0xc0, i, kShifts[i], "EbIb");
        add(0xc1, i, kShifts[i], "EvIb");
        add(0xd0, i, kShifts[i], "Eb");
        add(0xd1, i, kShifts[i], "Ev");
        add(0xd2, i, kShifts[i], "EbCb");
        add(0xd3, i, kShifts[i], "EvCb");
    }
    return rows;
}

// Bytes of the instruction, one after another.
class Reader {
  public:
    Reader(const uint8_t *code, size_t size) : code_(code), size_(size) {}

    // The next byte, which stays; 0 where there is none.
    uint8_t peek() const { return used_ < size_ ? code_[used_] : 0; }
    uint8_t next() { return uint8_t(number(1)); }
    // A little-endian number with a sign; 0 where the bytes end.
    int64_t number(unsigned bytes) {
        if (size_ - used_ < bytes) {
            cut_off_ = true;
            used_ = size_;
            return 0;
        }
        uint64_t value = 0;
        for (unsigned i = 0; i < bytes; i++)
            value |= uint64_t(code_[used_ + i]) << 8 * i;
        used_ += bytes;
        unsigned unused = 64 - 8 * bytes;
        return int64_t(value << unused) >> unused;
    }
    bool at_end() const { return used_ == size_; }
    bool cut_off() const { return cut_off_; }
    size_t used() const { return used_; }

  private:
    const uint8_t *code_;
    size_t size_, used_ = 0;
    bool cut_off_ = false;
};

struct Prefixes {
    bool lock = false, repeat = false, repeat_not = false, two_bytes = false, short_address = false;
    uint8_t rex = 0;
    bool wide() const { return rex & 8; }
    // The high bit of a register's number that is in field reg, index, or base and r/m.
    uint8_t reg() const { return uint8_t((rex & 4) << 1); }
    uint8_t index() const { return uint8_t((rex & 2) << 2); }
    uint8_t base() const { return uint8_t((rex & 1) << 3); }
};

Prefixes read_prefixes(Reader &bytes) {
    Prefixes found;
    for (;;) {
        uint8_t byte = bytes.peek();
        if ((byte & 0xf0) == 0x40) {
            found.rex = bytes.next();
            continue;
        }
        switch (byte) {
        case 0xf0:
            found.lock = true;
            break;
        case 0xf2:
            found.repeat_not = true;
            break;
        case 0xf3:
            found.repeat = true;
            break;
        case 0x66:
            found.two_bytes = true;
            break;
        case 0x67:
            found.short_address = true;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65: // segments, which are not followed
            break;
        default:
            return found;
        }
        bytes.next();
        found.rex = 0; // it counts only right before the opcode
    }
}

class Instruction {
  public:
    Instruction(Reader &bytes, X86Instruction &found)
        : bytes_(bytes), found_(found), prefixes_(read_prefixes(bytes)) {}

    // Returns false when it is not known.
    bool read() {
        opcode_ = bytes_.next();
        if (opcode_ == 0x0f)
            opcode_ = uint16_t(0x0f00 | bytes_.next());
        const Row *row = find_row();
        if (!row)
            return false;
        std::string_view letters = row->operands;
        if (letters.find_first_of("EMRG") != letters.npos)
            read_modrm();
        for (size_t i = 0; i < letters.size(); i += 2)
            found_.operands[i / 2] = operand(letters[i], letters[i + 1]);
        found_.lock = prefixes_.lock;
        found_.repeat = prefixes_.repeat || prefixes_.repeat_not;
        found_.narrow = prefixes_.two_bytes && !prefixes_.wide();
        found_.operation = by_prefix(row->operation);
        return true;
    }

  private:
    unsigned extension() const { return bytes_.peek() >> 3 & 7; }
    bool names_register() const { return bytes_.peek() >> 6 == 3; }

    // Null when there is none, or the ModRM byte, which would tell, is cut off.
    const Row *find_row() {
        static const std::vector<Row> rows = all_rows();
        for (const Row &row : rows) {
            if (opcode_ < row.first || opcode_ > row.last)
                continue;
            std::string_view letters = row.operands;
            bool asks = row.extension >= 0 || letters.find_first_of("MR") != letters.npos;
            if (asks && bytes_.at_end()) {
                bytes_.next();
                return nullptr;
            }
            if (row.extension >= 0 && unsigned(row.extension) != extension())
                continue;
            if (letters.find(names_register() ? 'M' : 'R') == letters.npos)
                return &row;
        }
        return nullptr;
    }

    // What a prefix makes of an operation.
    Op by_prefix(Op operation) const {
        if (opcode_ == 0x90 && !(prefixes_.rex & 1))
            return prefixes_.repeat ? Op::Pause : Op::Nop;
        if (prefixes_.repeat && (operation == Op::Bsf || operation == Op::Bsr))
            return Op::Popcnt; // tzcnt, lzcnt: as it, they always write
        return operation;
    }

    void read_modrm() {
        uint8_t byte = bytes_.next();
        reg_ = uint8_t((byte >> 3 & 7) | prefixes_.reg());
        uint8_t mode = byte >> 6, low = byte & 7;
        rm_ = uint8_t(low | prefixes_.base());
        in_memory_ = mode != 3;
        if (!in_memory_)
            return;
        unsigned displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;
        if (low == 4) {
            uint8_t sib = bytes_.next();
            uint8_t index = uint8_t((sib >> 3 & 7) | prefixes_.index());
            found_.index = index == 4 ? -1 : index;
            found_.base = (sib & 7) | prefixes_.base();
            if ((sib & 7) == 5 && mode == 0) {
                found_.base = -1;
                displacement = 4;
            }
        } else if (low == 5 && mode == 0) {
            found_.rip_relative = true;
            displacement = 4;
        } else {
            found_.base = rm_;
        }
        if (displacement)
            found_.displacement = bytes_.number(displacement);
    }

    X86Operand register_operand(uint8_t number, bool byte) const {
        // Without a REX prefix the bytes 4 to 7 are the high ones of the first four registers.
        if (byte && !prefixes_.rex && number >= 4)
            number = uint8_t(number - 4);
        return {Kind::Register, number, byte};
    }

    unsigned constant_size(char size) const {
        switch (size) {
        case 'b':
            return 1;
        case 'w':
            return 2;
        default: // REX.W overrides the prefix that makes it two
            return prefixes_.wide() ? (size == 'v' ? 8 : 4) : prefixes_.two_bytes ? 2 : 4;
        }
    }

    X86Operand operand(char where, char size) {
        bool byte = size == 'b';
        switch (where) {
        case 'E':
        case 'M':
        case 'R':
            return in_memory_ ? X86Operand{Kind::Memory, 0, byte} : register_operand(rm_, byte);
        case 'G':
            return register_operand(reg_, byte);
        case 'Z':
            return register_operand(uint8_t((opcode_ & 7) | prefixes_.base()), byte);
        case 'A':
            return {Kind::Register, 0, byte};
        case 'C':
            return {Kind::Register, 1, byte};
        case 'O':
            found_.displacement = bytes_.number(prefixes_.short_address ? 4 : 8);
            return {Kind::Memory, 0, byte};
        case 'J': // four bytes whatever the prefix
            bytes_.number(byte ? 1 : 4);
            return {Kind::Constant, 0, byte};
        default:
            bytes_.number(constant_size(size));
            return {Kind::Constant, 0, byte};
        }
    }

    Reader &bytes_;
    X86Instruction &found_;
    Prefixes prefixes_;
    uint16_t opcode_ = 0;
    uint8_t reg_ = 0, rm_ = 0;
    bool in_memory_ = false;
};

} // namespace

X86Fault take_apart_x86(const uint8_t *code, size_t size, X86Instruction &found) {
    constexpr size_t kLongest = 15;
    found = {};
    Reader bytes(code, size);
    bool known = Instruction(bytes, found).read();
    found.length = uint8_t(bytes.used());
    if (bytes.cut_off())
        return X86Fault::CutOff;
    return known && bytes.used() <= kLongest ? X86Fault::None : X86Fault::Unknown;
}

} // namespace lockcross
