#include "isa/micro_ops.h"

namespace lockcross {

namespace {

// What the micro-operations of one instruction hand each other; no instruction's own registers.
constexpr uint64_t kConstant = uint64_t(1) << 62, kResult = uint64_t(1) << 63;

Unit unit_of(const Insn &insn) {
    switch (insn.effect) {
    case Effect::None:
        return insn.latency == Latency::Mul   ? Unit::Multiply
               : insn.latency == Latency::Div ? Unit::Divide
                                              : Unit::Simple;
    case Effect::Fence:
    case Effect::Charge:
        return Unit::Simple;
    default:
        return Unit::Memory;
    }
}

MicroOp whole(const Insn &insn) {
    MicroOp op;
    op.reads = insn.reads;
    op.writes = insn.writes | insn.address_write;
    op.unit = unit_of(insn);
    op.fence = insn.effect == Effect::Fence;
    op.charge = insn.effect == Effect::Charge;
    return op;
}

MicroOp part(const Insn &insn, char kind) {
    MicroOp op;
    op.reads = insn.reads | kConstant | kResult;
    op.writes = insn.writes | insn.address_write | kResult;
    switch (kind) {
    case 'i':
        op.reads = 0;
        op.writes = kConstant;
        break;
    case 'l':
        op.unit = Unit::Memory;
        op.reads = insn.address_reads | kConstant;
        break;
    case 's':
        op.unit = Unit::Memory;
        op.writes = 0;
        break;
    case 'x':
        op.unit = Unit::Multiply;
        break;
    case 'd':
        op.unit = Unit::Divide;
        break;
    case 'f':
        op.fence = true;
        op.reads = op.writes = 0;
        break;
    case 'n':
        op.unit = Unit::Free;
        op.reads = op.writes = 0;
        break;
    default:
        break;
    }
    return op;
}

} // namespace

void append_micro_ops(const Insn &insn, bool cracked, std::vector<MicroOp> &ops) {
    size_t first = ops.size();
    // A charge is one, however the no-op that stands for it is made.
    if (cracked && insn.micro_ops[0] && insn.effect != Effect::Charge) {
        for (char kind : insn.micro_ops) {
            if (kind)
                ops.push_back(part(insn, kind));
        }
    } else {
        ops.push_back(whole(insn));
    }
    ops[first].first = true;
}

} // namespace lockcross
