#include "core/schedule.h"

#include <algorithm>
#include <utility>

namespace lockcross {

uint32_t Schedule::wait_for(const RegisterTime &result) const {
    uint32_t wait = 0;
    for (const RegisterTime &use : first_use) {
        if (use.reg == result.reg && result.cycle > use.cycle)
            wait = std::max(wait, result.cycle - use.cycle);
    }
    return wait;
}

uint32_t Schedule::delay_of(const Schedule &next) const {
    if (last_next_ == &next)
        return last_delay_;
    uint32_t delay = 0;
    for (const RegisterTime &result : late_results)
        delay = std::max(delay, next.wait_for(result));
    last_next_ = &next;
    last_delay_ = delay;
    return delay;
}

uint32_t Scheduler::latency_of(const Insn &insn) const {
    // A blocking core has waited for the access before the next instruction issues.
    uint32_t access = options_.blocking ? 0 : options_.lat_l1;
    uint32_t operand = insn.load_op ? access : 0;
    switch (insn.latency) {
    case Latency::Mul:
        return operand + options_.lat_mul;
    case Latency::Div:
        return operand + options_.lat_div;
    case Latency::Load:
        return std::max<uint32_t>(access, 1);
    default:
        return operand + options_.lat_alu;
    }
}

// Chunks that the instruction lies in, without the first one.
uint32_t Scheduler::further_fetches(uint64_t address, uint32_t size) const {
    if (options_.fetch_bytes == 0)
        return 0;
    return uint32_t((address + size - 1) / options_.fetch_bytes - address / options_.fetch_bytes);
}

uint32_t Scheduler::issue(const Insn &insn, uint32_t earliest, uint32_t fetches) {
    bool memory = insn.effect != Effect::None;
    bool branch = insn.branch != Branch::None;
    bool full = issued_ == options_.width || (memory && memory_used_) || (branch && branch_used_) ||
                fetches > 0;
    uint32_t cycle = std::max(earliest, (empty_ ? 0 : full ? cycle_ + 1 : cycle_) + fetches);
    schedule_.fetch_cycles += fetches;
    if (empty_ || cycle != cycle_) {
        cycle_ = cycle;
        issued_ = 0;
        memory_used_ = branch_used_ = false;
        schedule_.issue_cycles++;
    }
    empty_ = false;
    issued_++;
    memory_used_ |= memory;
    branch_used_ |= branch;
    return cycle;
}

uint32_t Scheduler::place(const Insn &insn, uint64_t address, uint32_t size) {
    uint32_t earliest = 0;
    for_each_register(insn.reads, [&](int reg) { earliest = std::max(earliest, ready_[reg]); });
    uint32_t cycle = issue(insn, earliest, further_fetches(address, size));
    for_each_register(insn.reads & ~schedule_.written, [&](int reg) {
        if (!needed_[reg])
            schedule_.first_use.push_back({uint8_t(reg), cycle});
        needed_[reg] = true;
    });
    for_each_register(insn.writes, [&](int reg) { ready_[reg] = cycle + latency_of(insn); });
    for_each_register(insn.address_writes,
                      [&](int reg) { ready_[reg] = cycle + options_.lat_alu; });
    schedule_.written |= insn.writes | insn.address_writes;
    return cycle;
}

Schedule Scheduler::finish() {
    schedule_.length = cycle_ + 1;
    for (size_t reg = 0; reg < kRegisters; reg++) {
        if (ready_[reg] <= schedule_.length)
            continue;
        schedule_.late_results.push_back({uint8_t(reg), ready_[reg] - schedule_.length});
        schedule_.latest = std::max(schedule_.latest, schedule_.late_results.back().cycle);
    }
    return std::move(schedule_);
}

} // namespace lockcross
