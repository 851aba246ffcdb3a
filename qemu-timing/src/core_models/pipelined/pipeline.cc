#include "core_models/pipelined/pipeline.h"

#include "base/registers.h"

namespace lockcross {

Pipeline::Pipeline(const Options &options)
    : options_(options), lines_(options.line, options.taken_branch),
      simple_{FunctionalUnit(options.lat_alu + kWriteBack, 1),
              FunctionalUnit(options.lat_alu + kWriteBack, 1)},
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
    if (refetched_ > 0)
        refetched_--;
    Cycle available = lines_.available_at(op.address + op.size - 1, fetch_.cycle());
    if (!fetch_.has_room(available, options_.width)) {
        available = std::max(available, decoded_[++fetch_entries_ % kFetchQueue]);
        fetch_.close();
    }
    fetch_.take(available, options_.width);
}

Cycle Pipeline::decode() {
    Cycle fetched = fetch_.cycle() + 1;
    if (!decode_.has_room(fetched, options_.width)) {
        fetched = std::max(fetched, issued_[++decode_entries_ % kIssueQueue]);
        decode_.close();
    }
    Cycle decoded = decode_.take(fetched, options_.width);
    decoded_[fetch_entries_ % kFetchQueue] = decoded;
    return decoded;
}

// The first cycle in which the micro-operation can issue and still get its operands.
Cycle Pipeline::operands_forwarded(const MicroOp &op) const {
    // How long after its issue a unit can still take a value that is being forwarded.
    uint32_t late = op.unit == Unit::Simple ? kWriteBack : op.unit == Unit::Memory ? 1 : 0;
    Cycle cycle = 0;
    for_each_register(op.reads, [&](int reg) {
        if (forwarded_[reg] > late)
            cycle = std::max(cycle, forwarded_[reg] - late);
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
    Cycle earliest = std::max(decode() + 1, operands_forwarded(op));
    Slots trial = issue_;
    earliest = trial.take(earliest, options_.width);
    unit_ = nullptr;
    Cycle end = earliest;
    uint32_t latency = op.unit == Unit::Memory ? 2 : 0; // a load's data is awaited at the commit
    if (op.unit != Unit::None) {
        unit_ = &choose_unit(op, earliest);
        earliest = unit_->free_at(earliest);
        end = unit_->issue(earliest);
        latency += unit_->depth();
    }
    issue_.take(earliest, options_.width);
    if (op.unit == Unit::Memory)
        issue_.close(); // one access a cycle, and it is the last
    issued_[decode_entries_ % kIssueQueue] = earliest;
    for_each_register(op.writes, [&](int reg) { forwarded_[reg] = earliest + latency; });
    end_ = end;
    return end;
}

Cycle Pipeline::operands_committed(const MicroOp &op, Cycle earliest) const {
    for_each_register(op.reads, [&](int reg) { earliest = std::max(earliest, written_[reg]); });
    return earliest;
}

Cycle Pipeline::commit(const MicroOp &op, Cycle earliest) {
    earliest = std::max(earliest, commit_.cycle());
    Cycle cycle = earliest;
    if (op.unit == Unit::Memory) {
        Slots trial = commit_;
        cycle = memory_commit_.take(trial.take(earliest, options_.width), 1);
    }
    if (op.unit != Unit::None)
        cycle = commit_.take(cycle, options_.width);
    if (unit_ && op.unit != Unit::Memory)
        unit_->leave(cycle);
    for_each_register(op.writes, [&](int reg) {
        written_[reg] = commit_seen();
        forwarded_[reg] = std::min(forwarded_[reg], cycle);
    });
    return cycle;
}

// Fetch and decode go straight on until the commit of the branch stops fetch. Issue goes on until
// the branch is at the end of its unit, and then discards what comes. But decode does not know of
// the branch, and decodes all that was fetched.
void Pipeline::fetch_wrong_path(const std::vector<MicroOp> &ops) {
    Cycle stop = commit_.cycle();
    // The code after the known code is assumed to be the same again, further on.
    uint64_t distance = 0;
    for (size_t i = 0;; i++) {
        MicroOp op = ops[i % ops.size()];
        if (i > 0 && i % ops.size() == 0)
            distance += ops.back().address + ops.back().size - ops[0].address;
        op.address += distance;
        if (op.first)
            fetch(op);
        if (fetch_.cycle() > stop)
            return;
        Cycle issued = decode() + 1;
        issued_[decode_entries_ % kIssueQueue] = issued <= end_ ? issued : std::max(issued, stop);
    }
}

void Pipeline::refetch() {
    uint64_t fetched = options_.width * (commit_.cycle() - fetch_.cycle());
    refetched_ = 1 + std::min<uint64_t>(fetched, options_.width * (kFetchQueue + kIssueQueue));
    flush({});
}

void Pipeline::flush(const std::vector<MicroOp> &wrong_path) {
    if (!wrong_path.empty())
        fetch_wrong_path(wrong_path);
    // From the request of the line to the commit of its first instruction.
    uint32_t refill = options_.taken_branch + kFrontEnd + options_.lat_alu + kWriteBack;
    restart_ = commit_.cycle() + (options_.mispredict > refill ? options_.mispredict - refill : 0);
}

} // namespace lockcross
