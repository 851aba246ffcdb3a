#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/schedule.h"
#include "core_models/scheduled/scheduled_core.h"
#include "isa/insn.h"
#include "memory/cache_hierarchy.h"

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

using namespace lockcross;

namespace {

// One core with its line already owned, and one block of a single cycle.
struct Bench {
    Options options;
    std::vector<Counts> counts{1};
    CacheHierarchy memory;
    ScheduledCore core;
    Block block;

    explicit Bench(Options o = Options())
        : options(o), memory(options, 64, counts), core(options, 0, memory, counts[0]) {
        block = one_cycle();
        core.begin_block(block);
        core.rmw(insn(Effect::Rmw), 0, 4);
        counts[0] = Counts{};
    }

    static Block one_cycle() {
        Block block;
        block.instructions = 1;
        block.schedule.length = block.schedule.issue_cycles = 1;
        return block;
    }
    static TimedInsn insn(Effect effect) {
        TimedInsn insn;
        insn.effect = effect;
        return insn;
    }
    static TimedInsn fence(Fence kind) {
        TimedInsn fence = insn(Effect::Fence);
        fence.fence = kind;
        return fence;
    }
    uint64_t stalled(Stall cause) const { return counts[0].stalls[size_t(cause)]; }
};

} // namespace

TEST_CASE("scheduled core: a full fence waits for the drain, then its own latency") {
    Bench bench;
    bench.core.store(bench.insn(Effect::Memory), 0, 4);
    bench.core.fence(bench.fence(Fence::Mfence));
    CHECK(bench.stalled(Stall::Drain) == bench.options.lat_l1);
    CHECK(bench.stalled(Stall::Fence) == bench.options.fence_mfence);
    CHECK(bench.counts[0].fences[size_t(Fence::Mfence)] == 1);
}

TEST_CASE("scheduled core: a partial fence does not wait for the drain") {
    Bench bench;
    bench.core.store(bench.insn(Effect::Memory), 0, 4);
    bench.core.fence(bench.fence(Fence::Lwsync));
    CHECK(bench.stalled(Stall::Drain) == 0);
    CHECK(bench.stalled(Stall::Fence) == bench.options.fence_lwsync);
}

TEST_CASE("scheduled core: each fence has its own latency") {
    Options options;
    uint32_t *latencies[] = {&options.fence_mfence, &options.fence_lfence, &options.fence_sfence,
                             &options.fence_hwsync, &options.fence_lwsync, &options.fence_isync,
                             &options.fence_dmb,    &options.fence_dmb_ld, &options.fence_dmb_st,
                             &options.fence_dsb,    &options.fence_isb};
    for (uint32_t kind = 0; kind < uint32_t(Fence::Count); kind++)
        *latencies[kind] = 100 + kind;
    for (uint32_t kind = 0; kind < uint32_t(Fence::Count); kind++) {
        Bench bench(options);
        bench.core.fence(bench.fence(Fence(kind)));
        CHECK(bench.stalled(Stall::Fence) == 100 + kind);
    }
}

TEST_CASE("scheduled core: a CAS costs its latency, won and lost apart") {
    Options options;
    options.cas_success = 11;
    options.cas_failure = 7;
    Bench bench(options);
    bench.core.cas(bench.insn(Effect::Cas), 0, 4, true);
    CHECK(bench.stalled(Stall::Atomic) == 11);
    bench.core.cas(bench.insn(Effect::Cas), 0, 4, false);
    CHECK(bench.stalled(Stall::Atomic) == 18);
    CHECK(bench.counts[0].cas_won == 1);
    CHECK(bench.counts[0].cas_lost == 1);
}

TEST_CASE(
    "scheduled core: a wider load waits for a narrower buffered store, an equal one is forwarded") {
    Bench bench;
    bench.core.store(bench.insn(Effect::Memory), 0, 1);
    bench.core.load(bench.insn(Effect::Memory), 0, 1);
    CHECK(bench.stalled(Stall::Forward) == 0);
    bench.core.load(bench.insn(Effect::Memory), 0, 4);
    CHECK(bench.stalled(Stall::Forward) == bench.options.lat_l1);
}

TEST_CASE("scheduled core: a store beyond the buffer's depth waits for the oldest") {
    Options options;
    options.store_buffer = 2;
    options.lat_l1 = 10;
    Bench bench(options);
    for (uint64_t i = 0; i < 2; i++)
        bench.core.store(bench.insn(Effect::Memory), 8 * i, 8);
    CHECK(bench.stalled(Stall::StoreBuffer) == 0);
    bench.core.store(bench.insn(Effect::Memory), 16, 8);
    CHECK(bench.stalled(Stall::StoreBuffer) == 10);
}

TEST_CASE("scheduled core: without a store buffer a store holds the core for its miss") {
    Options options;
    options.store_buffer = 0;
    Bench bench(options);
    bench.core.store(bench.insn(Effect::Memory), 8 * options.line, 8);
    CHECK(bench.stalled(Stall::Memory) == options.lat_memory);
}

TEST_CASE("scheduled core: a blocking core pays the L1 access of every load and store") {
    Options options;
    options.blocking = 1;
    options.lat_l1 = 3;
    Bench bench(options);
    bench.core.load(bench.insn(Effect::Memory), 0, 4);
    bench.core.store(bench.insn(Effect::Memory), 0, 4);
    CHECK(bench.stalled(Stall::Hit) == 6);
}

TEST_CASE(
    "scheduled core: an acquire waits for release stores only, and so does an acquire atomic") {
    for (Effect effect : {Effect::Memory, Effect::LoadLinked, Effect::Cas, Effect::Rmw}) {
        Bench bench;
        TimedInsn acquire = bench.insn(effect), release = bench.insn(Effect::Memory);
        acquire.acquire = release.release = true;
        bench.core.store(bench.insn(Effect::Memory), 0, 4);
        bench.core.before_access(acquire);
        CHECK(bench.stalled(Stall::Drain) == 0);
        bench.core.store(release, 0, 4);
        bench.core.before_access(acquire);
        CHECK(bench.stalled(Stall::Drain) > 0);
    }
}

TEST_CASE("scheduled core: a release store waits for nothing, a release atomic for the drain") {
    Bench bench;
    TimedInsn store = bench.insn(Effect::Memory), atomic = bench.insn(Effect::Rmw);
    store.release = atomic.release = true;
    bench.core.store(bench.insn(Effect::Memory), 0, 4);
    bench.core.before_access(store);
    CHECK(bench.stalled(Stall::Drain) == 0);
    bench.core.before_access(atomic);
    CHECK(bench.stalled(Stall::Drain) == bench.options.lat_l1);
}

TEST_CASE("scheduled core: a store-conditional waits for the stores before an lwsync") {
    for (Fence kind : {Fence::Lwsync, Fence::DmbSt}) {
        Options options;
        options.fence_lwsync = options.fence_dmb_st = 0;
        Bench bench(options);
        bench.core.store(bench.insn(Effect::Memory), 8 * options.line, 8); // misses
        bench.core.before_access(bench.insn(Effect::StoreConditional));
        CHECK(bench.stalled(Stall::Drain) == 0);
        bench.core.fence(bench.fence(kind));
        bench.core.before_access(bench.insn(Effect::StoreConditional));
        CHECK(bench.stalled(Stall::Drain) == options.lat_memory + options.lat_l1);
    }
}

TEST_CASE("scheduled core: a store-conditional that stores what was there still takes the line") {
    Bench bench;
    bench.core.load_linked(bench.insn(Effect::LoadLinked), 0, 4);
    bench.core.store_conditional(bench.insn(Effect::StoreConditional), 0, 4, true, false, false);
    CHECK(bench.counts[0].coherence[size_t(CoherenceEvent::Atomic)][size_t(Mesi::M)] == 1);
}

TEST_CASE("scheduled core: what a branch costs hides a wait for results, and waits outlive a short "
          "block") {
    Options options;
    options.mispredict = 8;
    Bench bench(options);
    Block slow = Bench::one_cycle(), use = Bench::one_cycle(), between = Bench::one_cycle();
    slow.schedule.late_results = {{3, 19}};
    slow.schedule.latest = 19;
    use.schedule.first_use = {{3, 0}};
    slow.branch = Branch::Conditional;
    slow.pc = slow.branch_pc = 0x200;
    slow.fallthrough = 0x204;
    use.pc = between.pc = 0x204;
    bench.core.begin_block(slow);
    bench.core.begin_block(use); // the counter says not taken, and it is not
    CHECK(bench.stalled(Stall::Dependence) == 19);

    Bench hidden(options);
    use.pc = 0x300; // taken, unlike the prediction
    hidden.core.begin_block(slow);
    hidden.core.begin_block(use);
    CHECK(hidden.stalled(Stall::Mispredict) == 8);
    CHECK(hidden.stalled(Stall::Dependence) == 11);

    Bench over(options);
    use.pc = 0x208;
    over.core.begin_block(slow);
    over.core.begin_block(between);
    over.core.begin_block(use);
    CHECK(over.stalled(Stall::Dependence) == 18); // one cycle less: that of the block between
}

TEST_CASE("scheduled core: a store-conditional that never reached memory costs a failure") {
    Bench bench;
    bench.core.load_linked(bench.insn(Effect::LoadLinked), 0, 4);
    CHECK_FALSE(bench.core.reservation_lost(0));
    bench.memory.clear_reservation(0); // as another core's store does
    CHECK(bench.core.reservation_lost(0));
    bench.core.store_conditional(bench.insn(Effect::StoreConditional), 0, 4, false, false, true);
    CHECK(bench.counts[0].reservations_lost == 1);
    CHECK(bench.counts[0].cas_lost == 1);
    CHECK(bench.stalled(Stall::Atomic) == bench.options.cas_failure);
    CHECK_FALSE(bench.core.reservation_lost(0));
}

TEST_CASE("scheduled core: every charge costs what its option says") {
    Options options;
    uint32_t *costs[] = {
        &options.charge_stop_running, &options.charge_park,         &options.charge_unpark,
        &options.charge_wake,         &options.charge_switch,       &options.charge_barrier,
        &options.charge_yield,        &options.charge_stop_blocked, &options.charge_stop_ended};
    for (uint32_t kind = 0; kind < uint32_t(Charge::Count); kind++)
        *costs[kind] = 50 + kind;
    for (uint32_t kind = 0; kind < uint32_t(Charge::Count); kind++) {
        Bench bench(options);
        TimedInsn charge = bench.insn(Effect::Charge);
        charge.charge = Charge(kind);
        bench.core.charge(charge);
        CHECK(bench.stalled(Stall::Charge) == 50 + kind);
        CHECK(bench.counts[0].charges[kind] == 1);
    }
}

TEST_CASE("scheduled core: a process-wide barrier costs its caller and who is interrupted") {
    Options options;
    options.charge_barrier = 300;
    options.charge_barrier_core = 70;
    options.charge_interrupt = 40;
    Bench bench(options);
    TimedInsn barrier = bench.insn(Effect::Charge);
    barrier.charge = Charge::Barrier;
    bench.core.store(bench.insn(Effect::Memory), 0, 4); // misses
    bench.core.barrier(barrier, 3);
    CHECK(bench.stalled(Stall::Drain) > 0);
    CHECK(bench.stalled(Stall::Charge) == 300 + 3 * 70);
    CHECK(bench.counts[0].charges[size_t(Charge::Barrier)] == 1);
    Cycle drained = bench.stalled(Stall::Drain);
    bench.core.interrupt(1);
    CHECK(bench.stalled(Stall::Drain) == drained);
    bench.core.store(bench.insn(Effect::Memory), 2048, 4); // misses, too
    bench.core.interrupt(2);
    CHECK(bench.stalled(Stall::Drain) > drained);
    CHECK(bench.stalled(Stall::Charge) == 300 + 3 * 70 + 3 * 40);
    CHECK(bench.counts[0].interrupts == 3);
}

TEST_CASE("scheduled core: an unpark and a wake cost what the sleeper's state asks for") {
    Options options;
    options.charge_unpark = 500;
    options.charge_wake = 900;
    options.charge_falls_asleep = options.charge_sleeps_long = 1;
    options.charge_unpark_awake = 700;
    options.charge_wake_awake = 100;
    options.charge_unpark_long = 1500;
    options.charge_wake_long = 4000;
    struct Case {
        Sleep sleep;
        Cycle unpark, wake;
    };
    for (const Case &of :
         {Case{Sleep::NotYet, 700, 100}, {Sleep::Sleeps, 500, 900}, {Sleep::ForLong, 1500, 4000}}) {
        Bench bench(options);
        TimedInsn charge = bench.insn(Effect::Charge);
        charge.charge = Charge::Unpark;
        bench.core.charge(charge);
        CHECK(bench.stalled(Stall::Charge) == 0); // the permit is given first
        bench.core.end_unpark(of.sleep);
        CHECK(bench.stalled(Stall::Charge) == of.unpark);
        charge.charge = Charge::Wake;
        bench.core.charge(charge, of.sleep);
        CHECK(bench.stalled(Stall::Charge) == of.unpark + of.wake);
    }
}

TEST_CASE("scheduled core: where all threads sleep, the least of an unpark is before its permit") {
    Options options;
    options.charge_unpark = 500;
    options.charge_sleeps_long = 1;
    options.charge_unpark_long = 1500;
    Bench bench(options);
    TimedInsn charge = bench.insn(Effect::Charge);
    charge.charge = Charge::Unpark;
    bench.core.charge(charge);
    CHECK(bench.stalled(Stall::Charge) == 500);
    bench.core.end_unpark(Sleep::ForLong);
    CHECK(bench.stalled(Stall::Charge) == 1500);
}

TEST_CASE("scheduled core: a store is seen when it has drained") {
    Options buffered, unbuffered, blocking;
    unbuffered.store_buffer = 0;
    blocking.blocking = true;
    for (const Options &options : {buffered, unbuffered, blocking}) {
        Bench bench(options);
        bench.core.store(bench.insn(Effect::Memory), 0, 8);
        Cycle first = bench.core.store_seen();
        CHECK(first > 0);
        bench.core.store(bench.insn(Effect::Memory), 64, 8);
        CHECK(bench.core.store_seen() > first);
    }
}

TEST_CASE(
    "scheduled core: branches cost what the predictor says, and stalls add up to the cycles") {
    Options options;
    options.taken_branch = 2;
    options.mispredict = 9;
    Bench bench(options);
    Block loop = Bench::one_cycle();
    loop.pc = 0x100;
    loop.fallthrough = 0x104;
    loop.branch_pc = 0x100;
    loop.branch = Branch::Conditional;
    bench.counts[0] = Counts{};
    Cycle before = bench.core.block_end();
    for (int turn = 0; turn < 5; turn++)
        bench.core.begin_block(loop);
    bench.core.end_block();
    CHECK(bench.stalled(Stall::Mispredict) == 9); // the first time only
    CHECK(bench.stalled(Stall::TakenBranch) == 3 * 2);
    CHECK(bench.core.block_end() - before + 1 == bench.core.stall_sum());
}
