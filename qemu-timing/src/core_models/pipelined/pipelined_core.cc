#include "core_models/pipelined/pipelined_core.h"

#include "core/branch_predictor.h"
#include "isa/insn.h"
#include "memory/store_buffer.h"

#include <algorithm>

namespace lockcross {

namespace {

// Fences that also flush what was fetched after them.
bool flushes(Fence kind) {
    return kind == Fence::Isync || kind == Fence::Isb || kind == Fence::Dsb;
}

bool is_full_fence(Fence kind) {
    return kind == Fence::Mfence || kind == Fence::Hwsync || kind == Fence::Lwsync ||
           kind == Fence::Dmb || kind == Fence::DmbLd || kind == Fence::DmbSt || kind == Fence::Dsb;
}

bool waits_for_drain(const Insn &insn) {
    return insn.effect == Effect::StoreConditional ||
           (insn.effect == Effect::Memory && insn.release);
}

} // namespace

PipelinedCore::PipelinedCore(const Options &options, uint32_t id, Memory &memory, Counts &counts)
    : MicroOpCore(options, id, memory, counts), pipeline_(options) {}

void PipelinedCore::start_at(Cycle cycle) {
    start_ = clock_ = cycle;
    pipeline_.start_at(cycle);
}

void PipelinedCore::resolve_branch(const Block &last, const Block &next) {
    if (pipeline_.refetched())
        predictor_.squashed(last.branch, last.branch_pc);
    bool taken = next.pc != last.fallthrough;
    bool right = last.unpredicted
                     ? !taken
                     : predictor_.predicted(last.branch, last.branch_pc, last.fallthrough, next.pc);
    if (!right) {
        pipeline_.flush(last.wrong_path);
        other_wait_ = Stall::Mispredict;
    } else if (taken) {
        pipeline_.redirect();
        other_wait_ = Stall::TakenBranch;
    }
}

void PipelinedCore::run_to(size_t end) {
    while (next_op_ < end) {
        const MicroOp &op = current();
        Cycle earliest = requested_ ? requested_at_ : pipeline_.issue(op);
        if (op.unit == Unit::Memory && !requested_) { // QEMU reported no access for it
            earliest = pipeline_.operands_committed(op, earliest);
            pipeline_.leave_unit(earliest);
            earliest += options_.lat_l1;
        }
        requested_ = false;
        commit_current(earliest);
        if (op.fence)
            fence_from(pipeline_.committed());
        next_op_++;
    }
}

void PipelinedCore::commit_current(Cycle earliest) {
    Cycle cycle = pipeline_.commit(current(), std::max(earliest, interrupted_until_));
    last_commit_ = {cycle, pipeline_.commit_seen()};
    // Within a cycle the load and store queue comes before this commit, unless it is the commit of
    // an access or the next micro-operation had to wait for its result.
    const MicroOp *next = next_op_ + 1 < block_->ops.size() ? &current() + 1 : nullptr;
    if (current().unit != Unit::Memory && !(next && next->reads & current().writes))
        last_commit_.seen = cycle + 1;
    retire(cycle, other_wait_);
    other_wait_ = Stall::Dependence;
}

bool PipelinedCore::request(const TimedInsn &insn) {
    if (requested_)
        return true;
    if (!run_to_access(insn))
        return false;
    Cycle end = pipeline_.issue(current());
    Cycle free = std::max(end, queue_free_);
    note_wait(Stall::Drain, fenced_until_ > free ? fenced_until_ - free : 0);
    requested_at_ = pipeline_.operands_committed(current(), std::max(free, fenced_until_));
    for (const Span &span : oldest_waited_) {
        if (requested_at_ >= span.from && requested_at_ < span.until)
            requested_at_ = span.until;
    }
    pipeline_.leave_unit(requested_at_);
    requested_ = true;
    return true;
}

Cycle PipelinedCore::after_commit(Commit commit) const {
    return requested_at_ < commit.seen ? commit.cycle + 1 : requested_at_;
}

Cycle PipelinedCore::send_to_memory(Cycle earliest) {
    queue_free_ = std::max(earliest, memory_slot());
    return queue_free_;
}

Cycle PipelinedCore::read(LineId first, LineId last, Cycle from) {
    Cycle latest = from;
    for (LineId line = first; line <= last; line++) {
        AccessDelay delay = memory_.read(id_, line, from);
        note_wait(delay);
        latest = std::max(latest, from + delay.total());
    }
    note_wait(Stall::Hit, options_.lat_l1);
    return latest + options_.lat_l1;
}

void PipelinedCore::finish_access(const TimedInsn &insn, Cycle done) {
    Cycle oldest = std::max(requested_at_, pipeline_.committed());
    commit_current(done);
    std::rotate(oldest_waited_.begin(), oldest_waited_.begin() + 1, oldest_waited_.end());
    oldest_waited_.back() = {oldest + 1, done};
    requested_ = false;
    next_op_++;
    access_commits_[0] = access_commits_[1];
    access_commits_[1] = {pipeline_.committed(), pipeline_.commit_seen()};
    bool one_op = insn.first_op + 1 == insn.end_op;
    if ((insn.acquire || insn.release) && one_op)
        fence_from(pipeline_.committed());
}

void PipelinedCore::fence_from(Cycle committed) {
    fenced_until_ = std::max(committed + 1, store_buffer_.drained_at(committed));
}

void PipelinedCore::load(const TimedInsn &insn, uint64_t address, uint32_t size) {
    LineId first = line_of(address), last = line_of(address + size - 1);
    if (!request(insn)) {
        memory_.read(id_, first, requested_at_);
        return;
    }
    // Until the last store is in the store buffer, the load cannot know what to take from there.
    Cycle earliest = std::max(after_commit(access_commits_[0]), after_commit(store_commit_));
    if (insn.effect == Effect::LoadLinked && !insn.plain_access)
        earliest = std::max(earliest, after_commit(last_commit_));
    store_buffer_.forget_drained(earliest);
    StoreBuffer::Lookup found = store_buffer_.lookup(address, size, earliest);
    if (found.match == StoreBuffer::Match::Forward) {
        queue_free_ = earliest;
        return finish_access(insn, earliest);
    }
    if (found.match == StoreBuffer::Match::Wait) {
        Cycle drained = std::max(earliest, memory_.when(id_, found.drained));
        note_wait(Stall::Forward, drained - earliest);
        earliest = drained;
    }
    Cycle done = read(first, last, send_to_memory(earliest));
    memory_slot() = done;
    finish_access(insn, done);
}

void PipelinedCore::store(const TimedInsn &insn, uint64_t address, uint32_t size) {
    if (!request(insn)) {
        memory_.get_exclusive(id_, line_of(address), requested_at_, CoherenceEvent::Store, 0);
    } else if (insn.release) {
        write_when_oldest(insn, address, size, CoherenceEvent::Store, 0);
    } else {
        write_to_buffer(insn, address, size, CoherenceEvent::Store);
    }
}

void PipelinedCore::write_when_oldest(const TimedInsn &insn, uint64_t address, uint32_t size,
                                      CoherenceEvent access, Cycle latency) {
    Cycle earliest = std::max(after_commit(access_commits_[0]), after_commit(last_commit_));
    store_buffer_.forget_drained(earliest);
    StoreBuffer::Lookup found = store_buffer_.lookup(address, size, earliest);
    Cycle free = earliest;
    if (waits_for_drain(insn)) {
        free = store_buffer_.drained_at(earliest);
    } else if (found.match != StoreBuffer::Match::None) {
        free = std::max(earliest, memory_.when(id_, found.drained));
    }
    note_wait(Stall::Drain, free - earliest);
    Cycle from = send_to_memory(free);
    LineId line = line_of(address);
    AccessDelay delay = memory_.get_exclusive(id_, line, from, access, options_.lat_l1 + latency);
    note_wait(delay);
    note_wait(Stall::Atomic, latency);
    note_wait(Stall::Hit, options_.lat_l1);
    Cycle done = from + delay.total() + options_.lat_l1;
    memory_slot() = done;
    finish_access(insn, done + latency);
    store_commit_ = access_commits_[1];
}

void PipelinedCore::write_to_buffer(const TimedInsn &insn, uint64_t address, uint32_t size,
                                    CoherenceEvent access) {
    queue_free_ = after_commit(access_commits_[0]);
    Cycle now = std::max(queue_free_, pipeline_.committed());
    store_buffer_.forget_drained(now);
    Cycle entry_free = store_buffer_.entry_free_at(now);
    note_wait(Stall::StoreBuffer, entry_free - now);
    finish_access(insn, entry_free);
    store_commit_ = access_commits_[1];
    LineId first = line_of(address), last = line_of(address + size - 1);
    for (LineId line = first; line <= last; line++) {
        bool owned = memory_.is_exclusive(id_, line);
        Cycle earliest = std::max(store_commit_.cycle + 1, memory_slot());
        Cycle start = memory_.when(id_, store_buffer_.drain_start(earliest, owned));
        AccessDelay delay = memory_.get_exclusive(id_, line, start, access, options_.lat_l1);
        Cycle written = start + delay.total() + options_.lat_l1;
        Completion drained = store_buffer_.push(address, size, start, written, insn.release);
        memory_.write_in_flight_until(id_, line, drained);
        memory_slot() = drained.cycle;
    }
}

void PipelinedCore::atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                           uint32_t latency) {
    request(insn);
    if (insn.plain_access) {
        requested_at_ += latency;
        note_wait(Stall::Atomic, latency);
        write_to_buffer(insn, address, size, CoherenceEvent::Atomic);
        return;
    }
    write_when_oldest(insn, address, size, CoherenceEvent::Atomic, latency);
    // An atomic of several micro-operations has a load and a store.
    if (request(insn))
        write_to_buffer(insn, address, size, CoherenceEvent::Store);
}

void PipelinedCore::fail_conditional(const TimedInsn &insn) {
    if (!request(insn))
        return;
    queue_free_ = requested_at_;
    note_wait(Stall::Atomic, options_.cas_failure);
    finish_access(insn, requested_at_ + options_.cas_failure);
}

// A fence or a charge: one micro-operation that commits so much after its issue.
void PipelinedCore::commit_after(const TimedInsn &insn, Stall cause, Cycle latency) {
    run_to(insn.first_op);
    note_wait(cause, latency);
    commit_current(pipeline_.issue(current()) + latency);
    next_op_++;
}

void PipelinedCore::wait_for_fence(const TimedInsn &insn, Cycle latency) {
    commit_after(insn, Stall::Fence, latency);
    if (is_full_fence(insn.fence))
        fence_from(pipeline_.committed());
    if (flushes(insn.fence)) {
        pipeline_.refetch();
        other_wait_ = Stall::Fence;
    }
}

void PipelinedCore::wait_for_charge(const TimedInsn &insn, Cycle cycles, bool drained) {
    run_to(insn.first_op);
    if (drained) {
        Cycle now = pipeline_.committed(), free = store_buffer_.drained_at(now);
        note_wait(Stall::Drain, free - now);
        interrupted_until_ = free + cycles;
    }
    commit_after(insn, Stall::Charge, cycles);
    if (drained)
        fence_from(pipeline_.committed());
}

void PipelinedCore::wait_for_interrupt(Cycle cycles) {
    Cycle now = pipeline_.committed(), free = store_buffer_.drained_at(now);
    note_wait(Stall::Drain, free - now);
    note_wait(Stall::Charge, cycles);
    interrupted_until_ = free + cycles;
    fenced_until_ = std::max(fenced_until_, interrupted_until_);
}

} // namespace lockcross
