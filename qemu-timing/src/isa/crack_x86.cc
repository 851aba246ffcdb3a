#include "isa/crack_x86.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockcross {

namespace {

using Op = X86Operation;
using Kind = X86Operand::Kind;

// The kinds by the form of the operands. i is a constant or the instruction's own address.
struct Row {
    Op operation;
    const char *plain;           // no operand in memory
    const char *constant;        // none in memory, the last one a constant; empty: as `plain`
    const char *load;            // the last operand in memory, or the only one, which is read
    const char *store;           // the first operand in memory
    const char *store_constant;  // the first in memory, the last one a constant; empty: as `store`
    const char *locked;          // the first in memory, with a lock prefix
    const char *locked_constant; // the first in memory, the last a constant, with a lock prefix
};

constexpr Row kOther = {Op::Nop, "o", "io", "lo", "los", "ilos", "flosf", "iflosf"};
constexpr Row kRows[] = {
    {Op::Mov, "o", "o", "l", "s", "is", "", ""},
    {Op::Movabs, "o", "o", "il", "is", "", "", ""},
    {Op::Movzx, "o", "", "lo", "", "", "", ""},
    {Op::Movsx, "o", "", "lo", "", "", "", ""},
    {Op::Movsxd, "o", "", "lo", "", "", "", ""},
    {Op::Lea, "o", "", "o", "", "", "", ""},
    {Op::Cmp, "o", "io", "lo", "lo", "ilo", "", ""},
    {Op::Test, "o", "io", "lo", "lo", "lio", "", ""},
    {Op::Inc, "o", "", "", "los", "", "flosf", ""},
    {Op::Dec, "o", "", "", "los", "", "flosf", ""},
    {Op::Neg, "o", "", "", "los", "", "flosf", ""},
    {Op::Not, "io", "", "", "ilos", "", "iflosf", ""},
    {Op::Push, "su", "isu", "lsu", "lsu", "", "", ""},
    {Op::Pop, "luo", "", "", "lous", "", "", ""},
    {Op::Pushf, "osu", "", "", "", "", "", ""},
    {Op::Popf, "luo", "", "", "", "", "", ""},
    {Op::Call, "isuo", "iisuo", "ilsuo", "ilsuo", "", "", ""},
    {Op::Ret, "luo", "luo", "", "", "", "", ""},
    {Op::Leave, "oluu", "", "", "", "", "", ""},
    {Op::Jmp, "o", "iio", "lo", "lo", "", "", ""},
    {Op::Xchg, "ooo", "", "flsfo", "flsfo", "", "flsfo", ""},
    {Op::Xadd, "ooo", "", "", "loso", "", "flosfo", ""},
    {Op::Cmpxchg, "ooo", "", "", "looso", "", "floosfo", ""},
    {Op::Imul, "xoo", "ixoo", "lxoo", "lxoo", "ilxoo", "", ""},
    {Op::Mul, "xoo", "", "lxoo", "lxoo", "", "", ""},
    {Op::Div, "dddddddooo", "", "ldddddddooo", "ldddddddooo", "", "", ""},
    {Op::Idiv, "dddddddooo", "", "ldddddddooo", "ldddddddooo", "", "", ""},
    {Op::Cqo, "oo", "", "", "", "", "", ""},
    {Op::Mfence, "f", "", "", "", "", "", ""},
    {Op::Nop, "n", "n", "n", "n", "", "", ""},
    {Op::Pause, "n", "", "", "", "", "", ""},
    {Op::Cmov, "oo", "", "loo", "oos", "", "", ""},
    {Op::Set, "oo", "", "loo", "oos", "", "", ""},
    {Op::Jcc, "iio", "iio", "lo", "lo", "", "", ""},
    {Op::Jrcxz, "iio", "iio", "lo", "lo", "", "", ""},
    {Op::Loop, "iio", "iio", "lo", "lo", "", "", ""},
    {Op::Loopcc, "iio", "iio", "lo", "lo", "", "", ""},
    {Op::Rol, "o", "o", "lo", "los", "los", "", ""},
    {Op::Ror, "o", "o", "lo", "los", "los", "", ""},
    {Op::Shl, "o", "o", "lo", "los", "los", "", ""},
    {Op::Shr, "o", "o", "lo", "los", "los", "", ""},
    {Op::Sar, "o", "o", "lo", "los", "los", "", ""},
    {Op::Shld, "o", "o", "lo", "los", "los", "", ""},
    {Op::Shrd, "o", "o", "lo", "los", "los", "", ""},
};

const Row &row_of(Op operation) {
    for (const Row &row : kRows) {
        if (row.operation == operation)
            return row;
    }
    return kOther;
}

std::string_view kinds_by_form(const X86Instruction &insn, const Row &row) {
    bool constant = insn.ends_in_constant();
    if (insn.lock)
        return constant ? row.locked_constant : row.locked;
    if (insn.operands[0].kind == Kind::Memory)
        return constant && *row.store_constant ? row.store_constant : row.store;
    if (insn.operands[1].kind == Kind::Memory)
        return row.load;
    return constant && *row.constant ? row.constant : row.plain;
}

// gem5 copies a byte register before it widens it.
bool widens_byte_register(const X86Instruction &insn) {
    const X86Operand &from = insn.operands[1];
    return (insn.operation == Op::Movzx || insn.operation == Op::Movsx) &&
           from.kind == Kind::Register && from.byte;
}

} // namespace

MicroOpKinds crack_x86(const X86Instruction &insn) {
    MicroOpKinds kinds{};
    size_t count = 0;
    if (insn.operation != Op::Nop && insn.rip_relative)
        kinds[count++] = 'i';
    if (widens_byte_register(insn))
        kinds[count++] = 'o';
    for (char kind : kinds_by_form(insn, row_of(insn.operation)))
        kinds[count++] = kind;
    return kinds;
}

} // namespace lockcross
