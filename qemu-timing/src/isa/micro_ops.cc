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

MicroOp whole(const Insn &insn, const Options &options) {
    MicroOp op;
    op.reads = insn.reads;
    op.writes = insn.writes;
    if (options.out_of_order) {
        op.update_reads = insn.update_reads;
        op.update_writes = insn.address_writes;
        op.counted = insn.stack && options.stack_engine;
    } else {
        op.writes |= insn.address_writes;
    }
    op.unit = unit_of(insn);
    op.fence = insn.effect == Effect::Fence;
    op.pause = insn.pause;
    if (insn.nop && options.out_of_order)
        op.unit = Unit::None;
    if (insn.zeroes && options.zero_idioms) {
        op.unit = Unit::None;
        op.reads = 0;
    }
    if (insn.copies && options.move_elimination)
        op.unit = Unit::None;
    op.loads = op.unit == Unit::Memory && insn.latency == Latency::Load;
    return op;
}

// Whether a branch fuses with the micro-operation before it: a simple one that sets what it reads.
bool fuses(const Insn &insn, const std::vector<MicroOp> &ops) {
    return insn.branch == Branch::Conditional && insn.reads && !ops.empty() &&
           ops.back().unit == Unit::Simple && (ops.back().writes & insn.reads) == insn.reads;
}

// kind: see MicroOpKinds.
MicroOp part(const Insn &insn, char kind) {
    MicroOp op;
    op.reads = insn.reads | kConstant | kResult;
    op.writes = insn.writes | kResult;
    switch (kind) {
    case 'u':
        op.reads = insn.update_reads;
        op.writes = insn.address_writes;
        break;
    case 'i':
        op.reads = 0;
        op.writes = kConstant;
        break;
    case 'l':
        op.unit = Unit::Memory;
        op.reads = insn.address_reads | kConstant;
        op.loads = true;
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

// Out of order a part waits for no part of an older instruction, only the last one with a result
// writes the instruction's registers, but for an updated base register, for which no other part
// waits, and the two halves of a product do not wait for each other. In order that makes no
// difference.
void separate(const Insn &insn, std::vector<MicroOp> &ops, size_t first) {
    constexpr RegisterSet kPassed = kConstant | kResult;
    RegisterSet passed = 0, updated = 0;
    size_t last = first;
    for (size_t i = first; i < ops.size(); i++) {
        MicroOp &op = ops[i];
        if (insn.micro_ops[i - first] == 'u') {
            updated = op.writes;
            continue;
        }
        op.reads &= (~kPassed | passed) & ~updated;
        if (op.writes & ~kPassed)
            last = i;
        if (insn.latency == Latency::Mul && op.unit == Unit::Simple)
            op.writes &= ~kResult;
        passed |= op.writes & kPassed;
    }
    for (size_t i = first; i < last; i++) {
        if (insn.micro_ops[i - first] != 'u')
            ops[i].writes &= kPassed;
    }
}

} // namespace

void append_micro_ops(const Insn &insn, uint64_t address, uint32_t size, const Options &options,
                      std::vector<MicroOp> &ops) {
    auto append = [&, first = true](MicroOp op) mutable {
        op.first = first;
        op.address = address;
        op.size = size;
        ops.push_back(op);
        first = false;
    };
    // A charge is one micro-operation, however gem5 cracks the no-op that encodes it.
    if (!options.micro_operations || !insn.micro_ops[0] || insn.effect == Effect::Charge) {
        MicroOp op = whole(insn, options);
        if (insn.effect == Effect::Rmw && options.rmw_micro_ops)
            op.slots = uint8_t(options.rmw_micro_ops);
        else if (insn.is_atomic())
            op.slots = uint8_t(options.atomic_micro_ops);
        else if (options.fuse_branches && fuses(insn, ops))
            op.slots = 0;
        return append(op);
    }
    size_t first = ops.size();
    for (char kind : insn.micro_ops) {
        if (kind)
            append(part(insn, kind));
    }
    if (options.out_of_order)
        separate(insn, ops, first);
}

} // namespace lockcross
