#include "core/core.h"

#include <algorithm>
#include <numeric>

namespace lockcross {

namespace {

uint32_t fence_latency(const Options &o, Fence kind) {
    const uint32_t latencies[size_t(Fence::Count)] = {
        o.fence_mfence, o.fence_lfence, o.fence_sfence, o.fence_hwsync,
        o.fence_lwsync, o.fence_isync,  o.fence_dmb,    o.fence_dmb_ld,
        o.fence_dmb_st, o.fence_dsb,    o.fence_isb};
    return latencies[size_t(kind)];
}

uint32_t unpark_cycles(const Options &o, Sleep sleep) {
    const uint32_t cycles[] = {o.charge_unpark_awake, o.charge_unpark, o.charge_unpark_long};
    return cycles[size_t(sleep)];
}

// Whether an unpark gives the permit first and goes to the kernel behind it: it matters when the
// permit comes, since a thread that does not sleep yet may find it.
bool gives_permit_first(const Options &o) { return o.charge_falls_asleep != 0; }

// What an unpark takes before it gives the permit.
uint32_t least_unpark_cycles(const Options &o) {
    if (gives_permit_first(o))
        return 0;
    uint32_t least = o.charge_unpark;
    if (o.charge_sleeps_long)
        least = std::min(least, o.charge_unpark_long);
    return least;
}

uint32_t charge_cycles(const Options &o, Charge kind, Sleep sleep) {
    const uint32_t wake[] = {o.charge_wake_awake, o.charge_wake, o.charge_wake_long};
    const uint32_t cycles[size_t(Charge::Count)] = {
        o.charge_stop_running, o.charge_park,         least_unpark_cycles(o),
        wake[size_t(sleep)],   o.charge_switch,       o.charge_barrier,
        o.charge_yield,        o.charge_stop_blocked, o.charge_stop_ended};
    return cycles[size_t(kind)];
}

} // namespace

Core::Core(const Options &options, uint32_t id, Memory &memory, Counts &counts)
    : options_(options), id_(id), memory_(memory), counts_(counts),
      store_buffer_(options.store_buffer, memory, id),
      predictor_(options.predictor_entries, options.predictor_history) {}

Cycle Core::stall_sum() const {
    return std::accumulate(counts_.stalls.begin(), counts_.stalls.end(), Cycle(0));
}

void Core::load_linked(const TimedInsn &insn, uint64_t address, uint32_t size) {
    // First, since the load may let other cores go on.
    memory_.reserve(id_, line_of(address));
    reserving_ = true;
    load(insn, address, size);
}

void Core::cas(const TimedInsn &insn, uint64_t address, uint32_t size, bool won) {
    (won ? counts_.cas_won : counts_.cas_lost)++;
    atomic(insn, address, size, won ? options_.cas_success : options_.cas_failure);
}

void Core::rmw(const TimedInsn &insn, uint64_t address, uint32_t size) {
    counts_.rmw++;
    atomic(insn, address, size, options_.rmw);
}

void Core::store_conditional(const TimedInsn &insn, uint64_t address, uint32_t size, bool accessed,
                             bool won, bool lost) {
    if (lost)
        counts_.reservations_lost++;
    (won ? counts_.cas_won : counts_.cas_lost)++;
    if (accessed && !lost) { // it stored, if only the value that was there
        atomic(insn, address, size, options_.cas_success);
    } else {
        fail_conditional(insn);
    }
    memory_.clear_reservation(id_);
    reserving_ = false;
}

void Core::fence(const TimedInsn &insn) {
    counts_.fences[size_t(insn.fence)]++;
    wait_for_fence(insn, fence_latency(options_, insn.fence));
}

void Core::charge(const TimedInsn &insn, Sleep sleep) {
    counts_.charges[size_t(insn.charge)]++;
    if (insn.charge != Charge::Unpark || !gives_permit_first(options_))
        wait_for_charge(insn, charge_cycles(options_, insn.charge, sleep), false);
}

void Core::barrier(const TimedInsn &insn, uint32_t interrupted) {
    counts_.charges[size_t(Charge::Barrier)]++;
    Cycle others = Cycle(interrupted) * options_.charge_barrier_core;
    wait_for_charge(insn, options_.charge_barrier + others, true);
}

void Core::interrupt(uint32_t times) {
    counts_.interrupts += times;
    wait_for_interrupt(Cycle(times) * options_.charge_interrupt);
}

void Core::end_unpark(Sleep sleep) {
    if (Cycle rest = unpark_cycles(options_, sleep) - least_unpark_cycles(options_))
        wait_behind_store(rest);
}

} // namespace lockcross
