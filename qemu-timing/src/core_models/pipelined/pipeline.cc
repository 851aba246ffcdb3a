#include "core_models/pipelined/pipeline.h"
#include "base/bits.h"

#include <algorithm>

namespace lockcross {

Cycle FunctionalUnit::free_at(Cycle earliest) const {
    Cycle free = earliest;
    for (const Passage &passage : passages_) {
        if (free >= passage.end && free < passage.left)
            free = passage.left;
        free = std::max(free, passage.issue + interval_);
    }
    return free;
}

Cycle FunctionalUnit::take(Cycle issue) {
    std::erase_if(passages_, [&](const Passage &p) {
        return p.left <= issue && p.issue + interval_ <= issue;
    });
    Cycle end = issue + depth_;
    for (const Passage &passage : passages_) {
        Cycle from = std::max(passage.end, issue);
        end += passage.left > from ? passage.left - from : 0;
    }
    passages_.push_back({issue, end, end});
    return end;
}

Pipeline::Pipeline(const Options &options)
    : options_(options), lines_(options.line, options.taken_branch),
      simple_{{options.lat_alu + kWriteBack, 1}, {options.lat_alu + kWriteBack, 1}},
      multiply_(options.lat_mul, 1), divide_(options.lat_div, options.lat_div), memory_(1, 1) {}

void Pipeline::start_at(Cycle cycle) {
    restart_ = cycle;
    for (Slots *slots : {&fetch_, &decode_, &issue_, &commit_, &memory_commit_})
        slots->start_at(cycle);
}

void Pipeline::fetch(const MicroOp &op) {
    if (restart_) {
        lines_.restart(op.address, *restart_);
        restart_.reset();
        fetch_.close();
    }
    refetched_ -= refetched_ > 0;
    Cycle there = lines_.reach(op.address + op.size - 1, fetch_.cycle());
    if (!fetch_.has_room(there, options_.width)) {
        there = std::max(there, decoded_[++fetch_entries_ % kFetched]);
        fetch_.close();
    }
    fetch_.take(there, options_.width);
}

Cycle Pipeline::decode() {
    Cycle fetched = fetch_.cycle() + 1;
    if (!decode_.has_room(fetched, options_.width)) {
        fetched = std::max(fetched, issued_[++decode_entries_ % kDecoded]);
        decode_.close();
    }
    Cycle decoded = decode_.take(fetched, options_.width);
    decoded_[fetch_entries_ % kFetched] = decoded;
    return decoded;
}

Cycle Pipeline::operands_at(const MicroOp &op) const {
    // How long after its issue a unit can still take a result that is being forwarded.
    uint32_t late = op.unit == Unit::Simple ? kWriteBack : op.unit == Unit::Memory ? 1 : 0;
    Cycle cycle = 0;
    for_each_bit(op.reads, [&](int reg) {
        if (ready_[reg] > late)
            cycle = std::max(cycle, ready_[reg] - late);
    });
    return cycle;
}

FunctionalUnit &Pipeline::choose_unit(const MicroOp &op, Cycle earliest) {
    switch (op.unit) {
    case Unit::Multiply:
        return multiply_;
    case Unit::Divide:
        return divide_;
    case Unit::Memory:
        return memory_;
    default:
        bool second = simple_[1].free_at(earliest) < simple_[0].free_at(earliest);
        return simple_[second];
    }
}

Cycle Pipeline::issue(const MicroOp &op) {
    if (op.first)
        fetch(op);
    Cycle earliest = std::max(decode() + 1, operands_at(op));
    Slots trial = issue_;
    earliest = trial.take(earliest, options_.width);
    unit_ = nullptr;
    Cycle end = earliest;
    uint32_t latency = op.unit == Unit::Memory ? 2 : 0; // a load's result is awaited at its commit
    if (op.unit != Unit::Free) {
        unit_ = &choose_unit(op, earliest);
        earliest = unit_->free_at(earliest);
        end = unit_->take(earliest);
        latency += unit_->depth();
    }
    issue_.take(earliest, options_.width);
    if (op.unit == Unit::Memory)
        issue_.close(); // one access a cycle, and it is the last
    issued_[decode_entries_ % kDecoded] = earliest;
    for_each_bit(op.writes, [&](int reg) { ready_[reg] = earliest + latency; });
    end_ = end;
    return end;
}

Cycle Pipeline::operands_committed(const MicroOp &op, Cycle earliest) const {
    for_each_bit(op.reads, [&](int reg) { earliest = std::max(earliest, written_[reg]); });
    return earliest;
}

Cycle Pipeline::commit(const MicroOp &op, Cycle earliest) {
    earliest = std::max(earliest, commit_.cycle());
    Cycle cycle = earliest;
    if (op.unit == Unit::Memory) {
        Slots trial = commit_;
        cycle = memory_commit_.take(trial.take(earliest, options_.width), 1);
    }
    if (op.unit != Unit::Free)
        cycle = commit_.take(cycle, options_.width);
    if (unit_ && op.unit != Unit::Memory)
        unit_->leave(cycle);
    for_each_bit(op.writes, [&](int reg) {
        written_[reg] = seen();
        ready_[reg] = std::min(ready_[reg], cycle);
    });
    return cycle;
}

// Fetch and decode go straight on until the commit of the branch stops the fetch. Issue follows
// while the branch is on its way, and then drops what comes; but decode, unaware, works off all
// that was fetched.
void Pipeline::fetch_in_vain(const std::vector<MicroOp> &ops) {
    Cycle stop = commit_.cycle();
    uint64_t passed = 0; // of the same code again, which stands for what lies behind it
    for (size_t i = 0;; i++) {
        MicroOp op = ops[i % ops.size()];
        if (i > 0 && i % ops.size() == 0)
            passed += ops.back().address + ops.back().size - ops[0].address;
        op.address += passed;
        if (op.first)
            fetch(op);
        if (fetch_.cycle() > stop)
            return;
        Cycle issued = decode() + 1;
        issued_[decode_entries_ % kDecoded] = issued <= end_ ? issued : std::max(issued, stop);
    }
}

void Pipeline::refetch() {
    uint64_t fetched = options_.width * (commit_.cycle() - fetch_.cycle());
    refetched_ = 1 + std::min<uint64_t>(fetched, options_.width * (kFetched + kDecoded));
    refill({});
}

void Pipeline::refill(const std::vector<MicroOp> &behind) {
    if (!behind.empty())
        fetch_in_vain(behind);
    uint32_t after = options_.taken_branch + kFrontEnd + options_.lat_alu + kWriteBack;
    restart_ = commit_.cycle() + (options_.mispredict > after ? options_.mispredict - after : 0);
}

} // namespace lockcross
