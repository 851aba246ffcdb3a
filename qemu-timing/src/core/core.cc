#include "core/core.h"

#include "core_models/pipelined/pipelined_core.h"
#include "core_models/scheduled/scheduled_core.h"

#include <numeric>

namespace lockcross {

Core::Core(const Options &options, uint32_t id, Memory &memory, Counts &counts)
    : options_(options), id_(id), memory_(memory), counts_(counts), buffer_(options.store_buffer),
      predictor_(options.predictor_entries) {}

Cycle Core::stall_sum() const {
    return std::accumulate(counts_.stalls.begin(), counts_.stalls.end(), Cycle(0));
}

void Core::load_linked(const Step &step, uint64_t address, uint32_t size) {
    load(step, address, size);
    memory_.reserve(id_, line_of(address));
    reserving_ = true;
}

void Core::cas(const Step &step, uint64_t address, uint32_t size, bool won) {
    (won ? counts_.cas_won : counts_.cas_lost)++;
    exclusive(step, address, size, won ? options_.cas_success : options_.cas_failure);
}

void Core::rmw(const Step &step, uint64_t address, uint32_t size) {
    counts_.rmw++;
    exclusive(step, address, size, options_.rmw);
}

void Core::store_conditional(const Step &step, uint64_t address, uint32_t size, bool accessed,
                             bool won) {
    bool lost = reservation_lost();
    if (lost)
        counts_.reservations_lost++;
    (won ? counts_.cas_won : counts_.cas_lost)++;
    if (accessed && !lost) { // it stored, if only what was there
        exclusive(step, address, size, options_.cas_success);
    } else {
        fail_conditional(step);
    }
    memory_.unreserve(id_);
    reserving_ = false;
}

Cycle Core::fence_latency(Fence kind) const {
    const Options &o = options_;
    const uint32_t latencies[] = {o.fence_mfence, o.fence_lfence, o.fence_sfence, o.fence_hwsync,
                                  o.fence_lwsync, o.fence_isync,  o.fence_dmb,    o.fence_dmb_ld,
                                  o.fence_dmb_st, o.fence_dsb,    o.fence_isb};
    return latencies[size_t(kind)];
}

void Core::fence(const Step &step) {
    counts_.fences[size_t(step.insn.fence)]++;
    wait_for_fence(step, fence_latency(step.insn.fence));
}

void Core::charge(const Step &step) {
    const Options &o = options_;
    const uint32_t costs[] = {o.charge_stop, o.charge_park, o.charge_unpark, o.charge_wake,
                              o.charge_switch};
    counts_.charges[size_t(step.insn.charge)]++;
    wait_for_charge(step, costs[size_t(step.insn.charge)]);
}

std::unique_ptr<Core> make_core(const Options &options, uint32_t id, Memory &memory,
                                Counts &counts) {
    if (options.pipeline)
        return std::make_unique<PipelinedCore>(options, id, memory, counts);
    return std::make_unique<ScheduledCore>(options, id, memory, counts);
}

} // namespace lockcross
