#include "base/counts.h"
#include "base/options.h"
#include "bench.h"
#include "core/block.h"
#include "core_models/pipelined/pipelined_core.h"
#include "isa/insn.h"
#include "memory/cache_hierarchy.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <doctest/doctest.h>
#include <memory>
#include <utility>
#include <vector>

using namespace lockcross;

namespace {

Options minor() {
    Options options;
    options.width = 2;
    options.pipeline = options.micro_operations = 1;
    options.taken_branch = 2;
    options.store_buffer = 5;
    options.cas_success = options.cas_failure = options.rmw = 0;
    options.fence_mfence = options.fence_dmb = options.fence_lwsync = options.fence_isb = 0;
    return options;
}

// A core whose first line is its own.
struct Bench : CoreBench<PipelinedCore> {
    explicit Bench(Options o = minor()) : CoreBench(o) {
        memory.get_exclusive(0, 0, 0, CoherenceEvent::Store, 0);
        // The pipeline is full, and the line of code is there.
        for (int i = 0; i < 4; i++)
            run(Insn{});
    }

    const TimedInsn *begin(const Insn &insn) {
        const TimedInsn *timed = CoreBench::begin(insn);
        pc = 0x1000 + (pc - 0x1000) % 32;
        return timed;
    }
    void run(const Insn &insn) { begin(insn); }
    void load(uint64_t address, uint32_t size = 8, const Insn &insn = access(Effect::Memory)) {
        CoreBench::load(address, size, insn);
    }
    void store(uint64_t address, uint32_t size = 8, const Insn &insn = access(Effect::Memory)) {
        CoreBench::store(address, size, insn);
    }
    void cas(const Insn &insn) { CoreBench::cas(0, 8, insn); }
    static Insn access(Effect effect) {
        Insn insn;
        insn.effect = effect;
        return insn;
    }
    Cycle now() { return core.block_end(); }
    void check_sum() { end(); }
};

Insn locked() {
    Insn insn = Bench::access(Effect::Cas);
    insn.acquire = insn.release = true;
    insn.micro_ops = {'f', 'l', 'o', 'o', 's', 'f', 'o'};
    return insn;
}

} // namespace

TEST_CASE(
    "pipelined core: a store leaves at its commit, a fence lets the next access wait for it") {
    for (bool fence : {false, true}) {
        Bench bench;
        bench.store(0);
        if (fence)
            bench.fence(Fence::Mfence);
        Cycle before = bench.now();
        bench.load(8);
        CHECK((bench.stalled(Stall::Drain) > 0) == fence);
        CHECK(bench.now() - before >= (fence ? 2 + bench.options.lat_l1 : 1));
        bench.check_sum();
    }
}

TEST_CASE("pipelined core: what counts as a full fence") {
    for (auto [kind, full] : {std::pair{Fence::Mfence, true},
                              {Fence::Lwsync, true},
                              {Fence::DmbSt, true},
                              {Fence::Sfence, false}}) {
        Bench bench;
        bench.store(0);
        bench.fence(kind);
        bench.load(8);
        CHECK((bench.stalled(Stall::Drain) > 0) == full);
    }
    for (bool acquire : {false, true}) {
        Bench bench;
        Insn insn = Bench::access(Effect::Memory);
        insn.acquire = acquire;
        bench.store(32 * bench.options.line); // misses
        bench.load(8, 8, insn);
        bench.load(16);
        CHECK((bench.stalled(Stall::Drain) > 0) == acquire);
        bench.check_sum();
    }
}

TEST_CASE("pipelined core: a load takes its value from the store that covers it, or waits") {
    Bench bench;
    bench.store(0, 1);
    bench.load(0, 1);
    CHECK(bench.stalled(Stall::Forward) == 0);
    bench.store(0, 1);
    bench.load(0, 8);
    CHECK(bench.stalled(Stall::Forward) > 0);
    bench.check_sum();
}

TEST_CASE("pipelined core: a miss holds the commit, and two may overlap") {
    Bench alone, both;
    alone.load(8 * alone.options.line);
    both.load(8 * both.options.line);
    both.load(9 * both.options.line);
    CHECK(alone.stalled(Stall::Memory) >= alone.options.lat_memory - 3);
    CHECK(both.now() - alone.now() <= 2);
    both.check_sum();
}

TEST_CASE("pipelined core: a release store waits for the drain, a CAS for its own latency") {
    Bench bench;
    bench.store(8 * bench.options.line);
    Insn release = Bench::access(Effect::Memory);
    release.release = true;
    bench.store(0, 8, release);
    CHECK(bench.stalled(Stall::Drain) > 0);
    bench.check_sum();

    Options slow = minor();
    slow.cas_success = 50;
    Bench fast_cas, slow_cas(slow);
    fast_cas.cas(Bench::access(Effect::Cas));
    slow_cas.cas(Bench::access(Effect::Cas));
    CHECK(slow_cas.now() == fast_cas.now() + 50);
    CHECK(slow_cas.counts[0].cas_won == 1);
}

TEST_CASE("pipelined core: a locked instruction is a load and a store between two fences") {
    Bench bench;
    bench.store(8);
    uint64_t before = bench.counts[0].coherence[size_t(CoherenceEvent::Store)][size_t(Mesi::M)];
    bench.cas(locked());
    bench.load(16);
    CHECK(bench.stalled(Stall::Drain) > 0);
    CHECK(bench.counts[0].coherence[size_t(CoherenceEvent::Atomic)][size_t(Mesi::M)] == 1);
    CHECK(bench.counts[0].coherence[size_t(CoherenceEvent::Store)][size_t(Mesi::M)] == before + 1);
    bench.check_sum();
}

TEST_CASE("pipelined core: a store-conditional, failed and plain") {
    Bench bench;
    Insn linked = Bench::access(Effect::LoadLinked), conditional = linked;
    conditional.effect = Effect::StoreConditional;
    const TimedInsn *timed = bench.begin(linked);
    bench.core.before_access(*timed);
    bench.core.load_linked(*timed, 0, 8);
    bench.memory.clear_reservation(0);
    CHECK(bench.core.reservation_lost(0));
    timed = bench.begin(conditional);
    bench.core.before_access(*timed);
    bench.core.store_conditional(*timed, 0, 0, false, false, true);
    CHECK(bench.counts[0].cas_lost == 1);
    linked.plain_access = conditional.plain_access = true;
    timed = bench.begin(linked);
    bench.core.before_access(*timed);
    bench.core.load_linked(*timed, 0, 8);
    timed = bench.begin(conditional);
    bench.core.before_access(*timed);
    bench.core.store_conditional(*timed, 0, 8, true, true, false);
    CHECK(bench.counts[0].cas_won == 1);
    bench.check_sum();
}

TEST_CASE("pipelined core: a process-wide barrier costs its caller and who is interrupted") {
    Options options = Bench().options;
    options.charge_barrier = 300;
    options.charge_barrier_core = 70;
    options.charge_interrupt = 400;
    Bench bench(options);
    Insn barrier = Bench::access(Effect::Charge);
    barrier.charge = Charge::Barrier;
    bench.core.barrier(*bench.begin(barrier), 3);
    bench.run(Insn{});
    CHECK(bench.stalled(Stall::Charge) >= 300 + 3 * 70);
    CHECK(bench.stalled(Stall::Charge) <= 300 + 3 * 70 + 4);
    CHECK(bench.counts[0].charges[size_t(Charge::Barrier)] == 1);
    Cycle before = bench.now(), charged = bench.stalled(Stall::Charge);
    bench.core.interrupt(2);
    bench.run(Insn{});
    bench.run(Insn{});
    CHECK(bench.now() - before >= 800);
    CHECK(bench.stalled(Stall::Charge) - charged >= 800 - 4);
    CHECK(bench.counts[0].interrupts == 2);
    bench.check_sum();
}

TEST_CASE("pipelined core: isb flushes, charges cost what they say") {
    Bench bench;
    Cycle before = bench.now();
    bench.fence(Fence::Isb);
    bench.run(Insn{});
    bench.run(Insn{});
    CHECK(bench.stalled(Stall::Fence) > 0);
    CHECK(bench.now() - before >= bench.options.mispredict);
    Insn charge = Bench::access(Effect::Charge);
    charge.charge = Charge::Park;
    bench.core.charge(*bench.begin(charge));
    CHECK(bench.stalled(Stall::Charge) == bench.options.charge_park);
    bench.check_sum();
}
