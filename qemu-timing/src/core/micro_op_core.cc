#include "core/micro_op_core.h"

#include <algorithm>

namespace lockcross {

void MicroOpCore::begin_block(const Block &next) {
    if (block_) {
        const Block &last = *block_;
        end_block();
        if (last.branch != Branch::None)
            resolve_branch(last, next);
    }
    block_ = &next;
    next_op_ = 0;
    counts_.instructions += next.instructions;
}

void MicroOpCore::end_block() {
    run_to(block_->ops.size());
    block_ = nullptr;
}

bool MicroOpCore::run_to_access(const TimedInsn &insn) {
    size_t op = next_op_;
    while (op < insn.end_op && block_->ops[op].unit != Unit::Memory)
        op++;
    if (op == insn.end_op)
        return false;
    run_to(op);
    return true;
}

void MicroOpCore::retire(Cycle cycle, Stall other, Stall first, Cycle of_first) {
    if (cycle >= clock_) {
        Cycle gap = cycle - clock_;
        auto take = [&](Stall cause, Cycle cycles) {
            Cycle part = std::min(gap, cycles);
            count(cause, part);
            gap -= part;
        };
        take(first, of_first);
        for (const Wait &known : known_waits_)
            take(known.cause, known.cycles);
        take(other, gap);
        count(Stall::Issue, 1);
        clock_ = cycle + 1;
    }
    known_waits_.clear();
}

} // namespace lockcross
