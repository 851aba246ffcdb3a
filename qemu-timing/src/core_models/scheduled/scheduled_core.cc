#include "core_models/scheduled/scheduled_core.h"

#include "core/branch_predictor.h"
#include "isa/insn.h"
#include "memory/store_buffer.h"

#include <algorithm>
#include <utility>

namespace lockcross {

void ScheduledCore::begin_block(const Block &next) {
    if (block_) {
        const Block &last = *block_;
        end_block();
        wait_for_results(last.schedule, next.schedule, branch_to(next, last));
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

// hidden: cycles since the end of last, which its results do not have to be waited for any more.
void ScheduledCore::wait_for_results(const Schedule &last, const Schedule &next, uint32_t hidden) {
    uint32_t wait = last.delay_of(next);
    for (const Schedule::RegisterTime &result : late_results_)
        wait = std::max(wait, next.wait_for(result));
    uint32_t stalled = wait > hidden ? wait - hidden : 0;
    stall(Stall::Dependence, stalled);
    uint32_t passed = hidden + stalled + next.length;
    if (late_results_.empty() && last.latest <= passed)
        return;
    std::vector<Schedule::RegisterTime> still_late;
    auto keep = [&](const Schedule::RegisterTime &result) {
        bool overwritten = next.written >> result.reg & 1;
        if (!overwritten && result.cycle > passed)
            still_late.push_back({result.reg, result.cycle - passed});
    };
    for (const Schedule::RegisterTime &result : last.late_results)
        keep(result);
    for (const Schedule::RegisterTime &result : late_results_)
        keep(result);
    late_results_ = std::move(still_late);
}

void ScheduledCore::end_block() {
    const Schedule &schedule = block_->schedule;
    stall(Stall::Issue, schedule.issue_cycles);
    stall(Stall::Fetch, schedule.fetch_cycles);
    stall(Stall::Dependence, schedule.length - schedule.issue_cycles - schedule.fetch_cycles);
    block_ = nullptr;
}

void ScheduledCore::wait_for(const AccessDelay &delay) {
    stall(Stall::Hold, delay.conflict_wait);
    stall(delay.cause, delay.latency);
    if (options_.blocking)
        stall(Stall::Hit, options_.lat_l1);
}

void ScheduledCore::read(const TimedInsn &insn, LineId line) {
    wait_for(memory_.read(id_, line, access_cycle(insn)));
}

void ScheduledCore::wait_for_earlier_stores(const TimedInsn &insn) {
    Cycle now = access_cycle(insn);
    store_buffer_.forget_drained(now);
    Cycle until = insn.acquire ? store_buffer_.releases_drained_at(now) : now;
    if (insn.is_atomic())
        until = std::max(until, insn.release ? store_buffer_.drained_at(now)
                                             : memory_.when(id_, ordered_until_));
    stall_until(Stall::Drain, now, until);
}

void ScheduledCore::load(const TimedInsn &insn, uint64_t address, uint32_t size) {
    store_buffer_.forget_drained(access_cycle(insn));
    if (!store_buffer_.empty()) {
        StoreBuffer::Lookup found = store_buffer_.lookup(address, size, access_cycle(insn));
        if (found.match == StoreBuffer::Match::Forward)
            return;
        if (found.match == StoreBuffer::Match::Wait)
            stall_until(Stall::Forward, access_cycle(insn), memory_.when(id_, found.drained));
    }
    LineId first = line_of(address), last = line_of(address + size - 1);
    read(insn, first);
    if (last != first)
        read(insn, last);
}

void ScheduledCore::store(const TimedInsn &insn, uint64_t address, uint32_t size) {
    LineId first = line_of(address), last = line_of(address + size - 1);
    for (LineId line = first; line <= last; line++) {
        if (options_.store_buffer == 0 || options_.blocking) {
            Cycle now = access_cycle(insn);
            Cycle writing = options_.blocking ? options_.lat_l1 : 0;
            wait_for(memory_.get_exclusive(id_, line, now, CoherenceEvent::Store, writing));
            store_seen_ = access_cycle(insn);
        } else {
            buffered_store(insn, address, size, line);
        }
    }
}

void ScheduledCore::buffered_store(const TimedInsn &insn, uint64_t address, uint32_t size,
                                   LineId line) {
    Cycle now = access_cycle(insn);
    store_buffer_.forget_drained(now);
    stall_until(Stall::StoreBuffer, now, store_buffer_.entry_free_at(now));
    bool owned = memory_.is_exclusive(id_, line);
    Completion start = store_buffer_.drain_start(access_cycle(insn), owned);
    Completion written = memory_.drain(id_, line, start) + options_.lat_l1;
    Completion drained = store_buffer_.push(address, size, start, written, insn.release);
    store_seen_ = drained.cycle;
    memory_.write_in_flight_until(id_, line, drained);
}

void ScheduledCore::atomic(const TimedInsn &insn, uint64_t address, uint32_t size,
                           uint32_t latency) {
    // The core's own earlier stores to the place come first.
    store_buffer_.forget_drained(access_cycle(insn));
    StoreBuffer::Lookup found = store_buffer_.lookup(address, size, access_cycle(insn));
    if (found.match != StoreBuffer::Match::None)
        stall_until(Stall::Drain, access_cycle(insn), memory_.when(id_, found.drained));
    LineId line = line_of(address);
    Cycle writing = latency + (options_.blocking ? options_.lat_l1 : 0);
    Cycle now = access_cycle(insn);
    wait_for(memory_.get_exclusive(id_, line, now, CoherenceEvent::Atomic, writing));
    stall(Stall::Atomic, latency);
}

void ScheduledCore::wait_for_fence(const TimedInsn &insn, Cycle latency) {
    Cycle now = access_cycle(insn);
    switch (insn.fence) {
    case Fence::Mfence:
    case Fence::Hwsync:
    case Fence::Dmb:
    case Fence::Dsb:
        wait_for_drain(now);
        break;
    case Fence::Lwsync:
    case Fence::DmbSt:
        ordered_until_ = store_buffer_.drained();
        break;
    default:
        break;
    }
    stall(Stall::Fence, latency);
}

} // namespace lockcross
