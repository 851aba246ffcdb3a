#include "core_models/scheduled/scheduled_core.h"

#include <algorithm>

namespace lockcross {

void ScheduledCore::enter(const Block &next) {
    if (block_) {
        const Block &last = *block_;
        leave();
        wait_for_results(last, next, branch_to(next, last));
    }
    block_ = &next;
    counts_.instructions += next.instructions;
}

// Returns the cycles that the branch at the end of last costs.
uint32_t ScheduledCore::branch_to(const Block &next, const Block &last) {
    if (last.branch == Branch::None)
        return 0;
    if (!predictor_.predicted(last.branch, last.branch_pc, last.fallthrough, next.pc)) {
        stall(Stall::Mispredict, options_.mispredict);
        return options_.mispredict;
    }
    if (next.pc == last.fallthrough)
        return 0;
    stall(Stall::TakenBranch, options_.taken_branch);
    return options_.taken_branch;
}

// hidden: cycles since the end of last, in which its results have come nearer.
void ScheduledCore::wait_for_results(const Block &last, const Block &next, uint32_t hidden) {
    uint32_t wait = last.wait_of(next);
    for (const Block::RegisterTime &result : owed_)
        wait = std::max(wait, next.wait_for(result));
    uint32_t stalled = wait > hidden ? wait - hidden : 0;
    stall(Stall::Dependence, stalled);
    uint32_t passed = hidden + stalled + next.length;
    if (owed_.empty() && last.latest <= passed)
        return;
    std::vector<Block::RegisterTime> still;
    auto keep = [&](const Block::RegisterTime &result) {
        bool written = next.written >> result.reg & 1;
        if (!written && result.cycle > passed)
            still.push_back({result.reg, result.cycle - passed});
    };
    for (const Block::RegisterTime &result : last.late)
        keep(result);
    for (const Block::RegisterTime &result : owed_)
        keep(result);
    owed_ = std::move(still);
}

void ScheduledCore::leave() {
    stall(Stall::Issue, block_->issue_cycles);
    stall(Stall::Fetch, block_->fetch_cycles);
    stall(Stall::Dependence, block_->length - block_->issue_cycles - block_->fetch_cycles);
    block_ = nullptr;
}

void ScheduledCore::wait_for(const Fill &fill) {
    stall(Stall::Hold, fill.hold);
    stall(fill.cause, fill.latency);
    if (options_.blocking)
        stall(Stall::Hit, options_.lat_l1);
}

void ScheduledCore::read(const Step &step, LineId line) {
    wait_for(memory_.read(id_, line, at(step)));
}

void ScheduledCore::wait_for_order(const Step &step) {
    Cycle now = at(step);
    buffer_.retire(now);
    Cycle until = step.insn.acquire ? buffer_.released_at(now) : now;
    if (step.insn.is_atomic()) {
        until = std::max(until, step.insn.release ? buffer_.empty_at(now) : ordered_until_);
    }
    wait_until(Stall::Drain, now, until);
}

void ScheduledCore::load(const Step &step, uint64_t address, uint32_t size) {
    buffer_.retire(at(step));
    if (!buffer_.empty()) {

        StoreBuffer::Lookup found = buffer_.lookup(address, size);
        if (found.match == StoreBuffer::Match::Forward)
            return;
        if (found.match == StoreBuffer::Match::Wait) {
            wait_until(Stall::Forward, at(step), found.until);
        }
    }
    LineId first = line_of(address), last = line_of(address + size - 1);
    read(step, first);
    if (last != first)
        read(step, last);
}

void ScheduledCore::store(const Step &step, uint64_t address, uint32_t size) {
    LineId first = line_of(address), last = line_of(address + size - 1);
    for (LineId line = first; line <= last; line++) {
        if (options_.store_buffer == 0 || options_.blocking) {
            wait_for(memory_.own(id_, line, at(step), Event::Store));
            memory_.write_until(id_, line, at(step));
        } else {
            buffered_store(step, address, size, line);
        }
    }
}

void ScheduledCore::buffered_store(const Step &step, uint64_t address, uint32_t size, LineId line) {
    buffer_.retire(at(step));
    wait_until(Stall::StoreBuffer, at(step), buffer_.room_at(at(step)));
    bool owned = memory_.state(id_, line) >= Mesi::E;
    Cycle start = buffer_.start_of(at(step), owned);
    Fill fill = memory_.own(id_, line, start, Event::Store);
    Cycle latency = fill.hold + fill.latency + options_.lat_l1;
    Cycle done = buffer_.push(address, size, start, latency, step.insn.release);
    memory_.write_until(id_, line, done);
}

void ScheduledCore::exclusive(const Step &step, uint64_t address, uint32_t size, uint32_t latency) {
    // Its own core's stores to the place come first.
    buffer_.retire(at(step));
    StoreBuffer::Lookup found = buffer_.lookup(address, size);
    if (found.match != StoreBuffer::Match::None)
        wait_until(Stall::Drain, at(step), found.until);
    LineId line = line_of(address);
    wait_for(memory_.own(id_, line, at(step), Event::Atomic));
    stall(Stall::Atomic, latency);
    memory_.write_until(id_, line, at(step));
}

void ScheduledCore::wait_for_fence(const Step &step, Cycle latency) {
    Fence kind = step.insn.fence;
    bool drains =
        kind == Fence::Mfence || kind == Fence::Hwsync || kind == Fence::Dmb || kind == Fence::Dsb;
    if (drains)
        wait_until(Stall::Drain, at(step), buffer_.empty_at(at(step)));
    if (kind == Fence::Lwsync || kind == Fence::DmbSt)
        ordered_until_ = buffer_.empty_at(at(step));
    stall(Stall::Fence, latency);
}

} // namespace lockcross
