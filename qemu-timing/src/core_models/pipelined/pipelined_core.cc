#include "core_models/pipelined/pipelined_core.h"

#include <algorithm>

namespace lockcross {

namespace {

// Fences that also throw away what was fetched behind them.
bool refills(Fence kind) {
    return kind == Fence::Isync || kind == Fence::Isb || kind == Fence::Dsb;
}

bool orders_all(Fence kind) {
    return kind == Fence::Mfence || kind == Fence::Hwsync || kind == Fence::Lwsync ||
           kind == Fence::Dmb || kind == Fence::DmbLd || kind == Fence::DmbSt || kind == Fence::Dsb;
}

bool is_fence_too(const Insn &insn) { return insn.acquire || insn.release; }

bool waits_for_drain(const Insn &insn) {
    return insn.effect == Effect::StoreConditional ||
           (insn.effect == Effect::Memory && insn.release);
}

} // namespace

PipelinedCore::PipelinedCore(const Options &options, uint32_t id, Memory &memory, Counts &counts)
    : Core(options, id, memory, counts), pipeline_(options) {}

void PipelinedCore::start_at(Cycle cycle) {
    start_ = clock_ = cycle;
    pipeline_.start_at(cycle);
}

void PipelinedCore::enter(const Block &next) {
    if (block_) {
        const Block &last = *block_;
        leave();
        resolve_branch(last, next);
    }
    block_ = &next;
    next_op_ = 0;
    counts_.instructions += next.instructions;
}

void PipelinedCore::leave() {
    run_to(block_->ops.size());
    block_ = nullptr;
}

void PipelinedCore::resolve_branch(const Block &last, const Block &next) {
    if (last.branch == Branch::None)
        return;
    if (pipeline_.refetched())
        predictor_.predict_in_vain(last.branch, last.branch_pc);
    bool taken = next.pc != last.fallthrough;
    bool right = last.unpredicted
                     ? !taken
                     : predictor_.predicted(last.branch, last.branch_pc, last.fallthrough, next.pc);
    if (!right) {
        pipeline_.refill(last.behind);
        refetched_ = Stall::Mispredict;
    } else if (taken) {
        pipeline_.redirect();
        refetched_ = Stall::TakenBranch;
    }
}

void PipelinedCore::run_to(size_t end) {
    while (next_op_ < end) {
        const MicroOp &op = current();
        Cycle earliest = asked_ ? asked_at_ : pipeline_.issue(op);
        if (op.unit == Unit::Memory && !asked_) { // its access was none
            earliest = pipeline_.operands_committed(op, earliest);
            pipeline_.leave_unit(earliest);
            earliest += options_.lat_l1;
        }
        asked_ = false;
        retire(earliest);
        if (op.fence)
            fence_behind(pipeline_.committed());
        next_op_++;
    }
}

void PipelinedCore::retire(Cycle earliest) {
    Cycle cycle = pipeline_.commit(current(), earliest);
    last_ = {cycle, pipeline_.seen()};
    // Its commit comes after the queue was tried in that cycle, unless it is an access, too, or the
    // next one had to wait for its result.
    const MicroOp *next = next_op_ + 1 < block_->ops.size() ? &current() + 1 : nullptr;
    if (current().unit != Unit::Memory && !(next && next->reads & current().writes))
        last_.seen = cycle + 1;
    if (cycle >= clock_) {
        Cycle gap = cycle - clock_;
        for (const Wait &known : waits_) {
            Cycle part = std::min(gap, known.cycles);
            count(known.cause, part);
            gap -= part;
        }
        count(refetched_, gap);
        count(Stall::Issue, 1);
        clock_ = cycle + 1;
    }
    refetched_ = Stall::Dependence;
    waits_.clear();
}

bool PipelinedCore::ask(const Step &step) {
    if (asked_)
        return true;
    size_t op = next_op_;
    while (op < step.end_op && block_->ops[op].unit != Unit::Memory)
        op++;
    if (op == step.end_op)
        return false;
    run_to(op);
    Cycle end = pipeline_.issue(current());
    Cycle free = std::max(end, left_queue_);
    wait(Stall::Drain, fenced_until_ > free ? fenced_until_ - free : 0);
    asked_at_ = pipeline_.operands_committed(current(), std::max(free, fenced_until_));
    for (const Awaited &oldest : awaited_) {
        if (asked_at_ >= oldest.from && asked_at_ < oldest.until)
            asked_at_ = oldest.until;
    }
    pipeline_.leave_unit(asked_at_);
    asked_ = true;
    return true;
}

Cycle PipelinedCore::queued_behind(Done earlier) const {
    return asked_at_ < earlier.seen ? earlier.cycle + 1 : asked_at_;
}

Cycle PipelinedCore::send(Cycle earliest) {
    left_queue_ = std::max(earliest, std::min(in_memory_[0], in_memory_[1]));
    return left_queue_;
}

Cycle PipelinedCore::read(LineId first, LineId last, Cycle from) {
    Cycle latest = from;
    for (LineId line = first; line <= last; line++) {
        Fill fill = memory_.read(id_, line, from);
        wait_for(fill);
        latest = std::max(latest, from + fill.hold + fill.latency);
    }
    wait(Stall::Hit, options_.lat_l1);
    return latest + options_.lat_l1;
}

void PipelinedCore::finish_access(const Step &step, Cycle done) {
    Cycle oldest = std::max(asked_at_, pipeline_.committed());
    retire(done);
    std::rotate(awaited_.begin(), awaited_.begin() + 1, awaited_.end());
    awaited_.back() = {oldest + 1, done};
    asked_ = false;
    next_op_++;
    done_[0] = done_[1];
    done_[1] = {pipeline_.committed(), pipeline_.seen()};
    if (is_fence_too(step.insn) && step.first_op + 1 == step.end_op)
        fence_behind(pipeline_.committed());
}

void PipelinedCore::fence_behind(Cycle committed) {
    fenced_until_ = std::max(committed + 1, buffer_.empty_at(committed));
}

void PipelinedCore::load(const Step &step, uint64_t address, uint32_t size) {
    LineId first = line_of(address), last = line_of(address + size - 1);
    if (!ask(step)) {
        memory_.read(id_, first, asked_at_);
        return;
    }
    // Behind a store that is not yet in the store buffer, it cannot know what to take from there.
    Cycle earliest = std::max(queued_behind(done_[0]), queued_behind(stored_));
    if (step.insn.effect == Effect::LoadLinked && !step.insn.plain)
        earliest = std::max(earliest, queued_behind(last_));
    buffer_.retire(earliest);
    StoreBuffer::Lookup found = buffer_.lookup(address, size);
    if (found.match == StoreBuffer::Match::Forward) {
        left_queue_ = earliest;
        return finish_access(step, earliest);
    }
    if (found.match == StoreBuffer::Match::Wait) {
        wait(Stall::Forward, found.until - earliest);
        earliest = found.until;
    }
    Cycle done = read(first, last, send(earliest));
    sent(done);
    finish_access(step, done);
}

void PipelinedCore::store(const Step &step, uint64_t address, uint32_t size) {
    if (!ask(step)) {
        memory_.own(id_, line_of(address), asked_at_, Event::Store);
    } else if (step.insn.release) {
        write_through(step, address, size, Event::Store, 0);
    } else {
        enter_store_buffer(step, address, size, Event::Store);
    }
}

// A write that waits until it is the oldest, and for the line.
void PipelinedCore::write_through(const Step &step, uint64_t address, uint32_t size, Event event,
                                  Cycle latency) {
    Cycle earliest = std::max(queued_behind(done_[0]), queued_behind(last_));
    buffer_.retire(earliest);
    StoreBuffer::Lookup found = buffer_.lookup(address, size);
    Cycle free = earliest;
    if (waits_for_drain(step.insn)) {
        free = buffer_.empty_at(earliest);
    } else if (found.match != StoreBuffer::Match::None) {
        free = found.until;
    }
    wait(Stall::Drain, free - earliest);
    Cycle from = send(free);
    LineId line = line_of(address);
    Fill fill = memory_.own(id_, line, from, event);
    wait_for(fill);
    wait(Stall::Atomic, latency);
    wait(Stall::Hit, options_.lat_l1);
    Cycle done = from + fill.hold + fill.latency + options_.lat_l1;
    memory_.write_until(id_, line, done + latency);
    sent(done);
    finish_access(step, done + latency);
    stored_ = done_[1];
}

void PipelinedCore::enter_store_buffer(const Step &step, uint64_t address, uint32_t size,
                                       Event event) {
    left_queue_ = queued_behind(done_[0]);
    Cycle now = std::max(left_queue_, pipeline_.committed());
    buffer_.retire(now);
    Cycle room = buffer_.room_at(now);
    wait(Stall::StoreBuffer, room - now);
    finish_access(step, room);
    stored_ = done_[1];
    LineId first = line_of(address), last = line_of(address + size - 1);
    for (LineId line = first; line <= last; line++) {
        bool owned = memory_.state(id_, line) >= Mesi::E;
        Cycle free = std::min(in_memory_[0], in_memory_[1]);
        Cycle start = buffer_.start_of(std::max(stored_.cycle + 1, free), owned);
        Fill fill = memory_.own(id_, line, start, event);
        Cycle latency = fill.hold + fill.latency + options_.lat_l1;
        Cycle done = buffer_.push(address, size, start, latency, step.insn.release);
        sent(done);
        memory_.write_until(id_, line, done);
    }
}

void PipelinedCore::exclusive(const Step &step, uint64_t address, uint32_t size, uint32_t latency) {
    ask(step);
    if (step.insn.plain) {
        asked_at_ += latency;
        wait(Stall::Atomic, latency);
        enter_store_buffer(step, address, size, Event::Atomic);
        return;
    }
    write_through(step, address, size, Event::Atomic, latency);
    // Of several micro-operations it has a load and a store.
    if (ask(step))
        enter_store_buffer(step, address, size, Event::Store);
}

void PipelinedCore::fail_conditional(const Step &step) {
    if (!ask(step))
        return;
    left_queue_ = asked_at_;
    wait(Stall::Atomic, options_.cas_failure);
    finish_access(step, asked_at_ + options_.cas_failure);
}

void PipelinedCore::wait_for_fence(const Step &step, Cycle latency) {
    run_to(step.first_op);
    wait(Stall::Fence, latency);
    retire(pipeline_.issue(current()) + latency);
    next_op_++;
    if (orders_all(step.insn.fence))
        fence_behind(pipeline_.committed());
    if (refills(step.insn.fence)) {
        pipeline_.refetch();
        refetched_ = Stall::Fence;
    }
}

void PipelinedCore::wait_for_charge(const Step &step, Cycle cycles) {
    run_to(step.first_op);
    wait(Stall::Charge, cycles);
    retire(pipeline_.issue(current()) + cycles);
    next_op_++;
}

} // namespace lockcross
