#include "isa/micro_ops.h"

namespace lockcross {

namespace {

// What the micro-operations of one instruction pass to each other: registers of no instruction.
constexpr RegisterSet kConstant = register_bit(62), kResult = register_bit(63);

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
    op.writes = insn.writes | insn.address_writes;
    op.unit = unit_of(insn);
    op.fence = insn.effect == Effect::Fence;
    op.pause = insn.pause;
    return op;
}

// kind: see MicroOpKinds.
MicroOp part(const Insn &insn, char kind) {
    MicroOp op;
    op.reads = insn.reads | kConstant | kResult;
    op.writes = insn.writes | insn.address_writes | kResult;
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
        op.unit = Unit::None;
        op.reads = op.writes = 0;
        break;
    default:
        break;
    }
    return op;
}

} // namespace

void append_micro_ops(const Insn &insn, uint64_t address, uint32_t size, bool cracked,
                      std::vector<MicroOp> &ops) {
    auto append = [&, first = true](MicroOp op) mutable {
        op.first = first;
        op.address = address;
        op.size = size;
        ops.push_back(op);
        first = false;
    };
    // A charge is one micro-operation, however gem5 cracks the no-op that encodes it.
    if (!cracked || !insn.micro_ops[0] || insn.effect == Effect::Charge)
        return append(whole(insn));
    for (char kind : insn.micro_ops) {
        if (kind)
            append(part(insn, kind));
    }
}

} // namespace lockcross
