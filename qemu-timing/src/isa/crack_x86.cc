#include "isa/crack_x86.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockcross {

namespace {

// The kinds by the form of the operands. i is a constant or the instruction's own address.
struct Row {
    unsigned id;
    const char *plain;           // no operand in memory
    const char *constant;        // none in memory, the last one a constant; empty: as `plain`
    const char *load;            // the last operand in memory, or the only one, which is read
    const char *store;           // the first operand in memory
    const char *store_constant;  // the first in memory, the last one a constant; empty: as `store`
    const char *locked;          // the first in memory, with a lock prefix
    const char *locked_constant; // the first in memory, the last a constant, with a lock prefix
};

constexpr Row kArithmetic = {0, "o", "io", "lo", "los", "ilos", "flosf", "iflosf"};
constexpr Row kShift = {0, "o", "o", "lo", "los", "los", "", ""};
constexpr Row kConditional = {0, "oo", "", "loo", "oos", "", "", ""}; // cmov, set
constexpr Row kBranch = {0, "iio", "iio", "lo", "lo", "", "", ""};

constexpr Row kRows[] = {
    {X86_INS_MOV, "o", "o", "l", "s", "is", "", ""},
    {X86_INS_MOVABS, "o", "o", "il", "is", "", "", ""},
    {X86_INS_MOVZX, "o", "", "lo", "", "", "", ""},
    {X86_INS_MOVSX, "o", "", "lo", "", "", "", ""},
    {X86_INS_MOVSXD, "o", "", "lo", "", "", "", ""},
    {X86_INS_LEA, "o", "", "o", "", "", "", ""},
    {X86_INS_CMP, "o", "io", "lo", "lo", "ilo", "", ""},
    {X86_INS_TEST, "o", "io", "lo", "lo", "lio", "", ""},
    {X86_INS_INC, "o", "", "", "los", "", "flosf", ""},
    {X86_INS_DEC, "o", "", "", "los", "", "flosf", ""},
    {X86_INS_NEG, "o", "", "", "los", "", "flosf", ""},
    {X86_INS_NOT, "io", "", "", "ilos", "", "iflosf", ""},
    {X86_INS_PUSH, "so", "iso", "lso", "lso", "", "", ""},
    {X86_INS_POP, "loo", "", "", "loos", "", "", ""},
    {X86_INS_CALL, "isoo", "iisoo", "ilsoo", "ilsoo", "", "", ""},
    {X86_INS_RET, "loo", "loo", "", "", "", "", ""},
    {X86_INS_LEAVE, "oloo", "", "", "", "", "", ""},
    {X86_INS_JMP, "o", "iio", "lo", "lo", "", "", ""},
    {X86_INS_XCHG, "ooo", "", "flsfo", "flsfo", "", "flsfo", ""},
    {X86_INS_XADD, "ooo", "", "", "loso", "", "flosfo", ""},
    {X86_INS_CMPXCHG, "ooo", "", "", "looso", "", "floosfo", ""},
    {X86_INS_IMUL, "xoo", "ixoo", "lxoo", "lxoo", "ilxoo", "", ""},
    {X86_INS_MUL, "xoo", "", "lxoo", "lxoo", "", "", ""},
    {X86_INS_DIV, "dddddddooo", "", "ldddddddooo", "ldddddddooo", "", "", ""},
    {X86_INS_IDIV, "dddddddooo", "", "ldddddddooo", "ldddddddooo", "", "", ""},
    {X86_INS_CQO, "oo", "", "", "", "", "", ""},
    {X86_INS_MFENCE, "f", "", "", "", "", "", ""},
    {X86_INS_NOP, "n", "n", "n", "n", "", "", ""},
    {X86_INS_PAUSE, "n", "", "", "", "", "", ""},
};

bool in_group(const cs_insn *insn, uint8_t group) {
    for (uint8_t i = 0; i < insn->detail->groups_count; i++) {
        if (insn->detail->groups[i] == group)
            return true;
    }
    return false;
}

Row row_of(const cs_insn *insn) {
    for (const Row &row : kRows) {
        if (row.id == insn->id)
            return row;
    }
    if (in_group(insn, X86_GRP_JUMP))
        return kBranch;
    std::string_view name = insn->mnemonic;
    if (name.starts_with("cmov") || name.starts_with("set"))
        return kConditional;
    if (name.starts_with("sh") || name.starts_with("sa") || name.starts_with("ro"))
        return kShift;
    return kArithmetic;
}

std::string_view kinds_by_form(const cs_insn *insn, const Row &row) {
    const cs_x86 &x86 = insn->detail->x86;
    uint8_t count = x86.op_count;
    bool constant = count && x86.operands[count - 1].type == X86_OP_IMM;
    bool first_in_memory = count && x86.operands[0].type == X86_OP_MEM;
    bool second_in_memory = count > 1 && x86.operands[1].type == X86_OP_MEM;
    if (x86.prefix[0] == X86_PREFIX_LOCK)
        return constant ? row.locked_constant : row.locked;
    if (first_in_memory)
        return constant && *row.store_constant ? row.store_constant : row.store;
    if (second_in_memory)
        return row.load;
    return constant && *row.constant ? row.constant : row.plain;
}

bool is_rip_relative(const cs_insn *insn) {
    const cs_x86 &x86 = insn->detail->x86;
    for (uint8_t i = 0; i < x86.op_count; i++) {
        if (x86.operands[i].type == X86_OP_MEM && x86.operands[i].mem.base == X86_REG_RIP)
            return true;
    }
    return false;
}

// gem5 copies a byte register before it widens it.
bool widens_byte_register(const cs_insn *insn) {
    const cs_x86 &x86 = insn->detail->x86;
    return (insn->id == X86_INS_MOVZX || insn->id == X86_INS_MOVSX) && x86.op_count == 2 &&
           x86.operands[1].type == X86_OP_REG && x86.operands[1].size == 1;
}

} // namespace

MicroOpKinds crack_x86(const cs_insn *insn) {
    MicroOpKinds kinds{};
    size_t count = 0;
    if (insn->id != X86_INS_NOP && is_rip_relative(insn))
        kinds[count++] = 'i';
    if (widens_byte_register(insn))
        kinds[count++] = 'o';
    for (char kind : kinds_by_form(insn, row_of(insn)))
        kinds[count++] = kind;
    return kinds;
}

} // namespace lockcross
