#include "base/counts.h"
#include "base/options.h"
#include "base/registers.h"
#include "bench.h"
#include "core_models/out_of_order/out_of_order_core.h"
#include "isa/insn.h"
#include "memory/cache_hierarchy.h"

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>

using namespace lockcross;

namespace {

// Wide enough that only what a test is about takes time.
Options wide() {
    Options options;
    options.out_of_order = options.warm = 1;
    options.width = options.fetch_width = options.retire_width = 8;
    options.alu_ports = options.load_ports = options.store_ports = 8;
    options.front_end = 4;
    options.lat_l1 = 5;
    options.lat_forward = 4;
    options.lat_forward_part = 6;
    options.forward_fail = 11;
    options.lat_drain = 2;
    options.cas_success = 15;
    options.fence_mfence = 30;
    options.taken_branch = 1;
    options.mispredict = 7;
    return options;
}

struct Bench : CoreBench<OutOfOrderCore> {
    explicit Bench(Options o = wide(), size_t cores = 1) : CoreBench(o, cores) {}

    void cas(uint64_t address, const Insn &insn) { CoreBench::cas(address, 4, insn); }
    void store(uint64_t address, uint32_t size, Insn insn) {
        insn.latency = Latency::Alu; // no entry of the load queue
        CoreBench::store(address, size, insn);
    }
    // An addition to a register, which waits for the one before.
    void add(unsigned reg) {
        Insn insn;
        insn.reads = insn.writes = register_bit(reg);
        begin(insn);
    }
    static Insn with(Effect effect, int reads = -1, int writes = -1) {
        Insn insn;
        insn.effect = effect;
        if (effect == Effect::Memory)
            insn.latency = Latency::Load;
        if (reads >= 0)
            insn.reads = register_bit(unsigned(reads));
        if (writes >= 0)
            insn.writes = register_bit(unsigned(writes));
        return insn;
    }
    Cycle cycles() {
        end();
        return core.cycles();
    }
};

Insn memory(int reads = -1, int writes = -1) { return Bench::with(Effect::Memory, reads, writes); }

// The cycles of so many more of something, once the window is full of it.
template <typename Work> Cycle cost_of(Options options, int count, Work work) {
    Bench few(options), many(options);
    for (int i = 0; i < 2000; i++)
        work(few, i);
    for (int i = 0; i < 2000 + count; i++)
        work(many, i);
    return many.cycles() - few.cycles();
}

} // namespace

TEST_CASE("out of order: independent work goes as wide as the core, dependent work one by one") {
    CHECK(cost_of(wide(), 800, [](Bench &b, int i) { b.add(unsigned(i % 16)); }) == 100);
    CHECK(cost_of(wide(), 800, [](Bench &b, int) { b.add(3); }) == 800);
    Options narrow = wide();
    narrow.alu_ports = 2;
    CHECK(cost_of(narrow, 800, [](Bench &b, int i) { b.add(unsigned(i % 16)); }) == 400);
}

TEST_CASE("out of order: a chain of loads waits for each, others overlap") {
    auto chained = [](Bench &b, int) { b.load(0, 8, memory(3, 3)); };
    auto apart = [](Bench &b, int) { b.load(0, 8, memory(-1, 3)); };
    CHECK(cost_of(wide(), 100, chained) == 500);
    CHECK(cost_of(wide(), 800, apart) == 100);
}

// An access whose base register, 3, it updates; data: the register that it loads or stores.
Insn updating(bool loads, int data) {
    Insn insn = memory(3);
    (loads ? insn.writes : insn.reads) |= register_bit(unsigned(data));
    insn.update_reads = insn.address_writes = register_bit(3);
    return insn;
}

TEST_CASE("out of order: an updated base register waits neither for what is loaded nor for what is "
          "stored") {
    auto loads = [](Bench &b, int) { b.load(0, 8, updating(true, 4)); };
    CHECK(cost_of(wide(), 100, loads) == 100);
    auto stores = [](Bench &b, int) {
        b.load(64, 8, memory(3, 4));
        b.store(0, 8, updating(false, 4));
    };
    Options options = wide();
    options.store_buffer = 64;
    CHECK(cost_of(options, 100, stores) == 100);
    auto slow = [](Bench &b, int) { // the base itself is loaded: 5, and 1 for the update
        b.load(0, 8, memory(3, 3));
        b.load(0, 8, updating(true, 4));
    };
    CHECK(cost_of(wide(), 100, slow) == 600);
    auto into_base = [](Bench &b, int) { b.load(0, 8, updating(true, 3)); }; // pop %rsp
    CHECK(cost_of(wide(), 100, into_base) == 500);
}

TEST_CASE("out of order: behind a stack engine only what else reads the pointer waits") {
    auto pops = [](int count) {
        return [=](Bench &b, int) {
            Insn pop = updating(true, 4);
            pop.stack = true;
            for (int i = 0; i < count; i++)
                b.load(0, 8, pop);
            b.add(3);
        };
    };
    Options options = wide();
    CHECK(cost_of(options, 100, pops(4)) == 500);
    options.stack_engine = 1;
    CHECK(cost_of(options, 100, pops(1)) == 200);
    CHECK(cost_of(options, 100, pops(4)) == 200);
    auto set_anew = [](Bench &b, int) { // what was counted is of the pointer before
        Insn pop = updating(true, 4);
        pop.stack = true;
        b.load(0, 8, pop);
        b.load(0, 8, memory(4, 3));
        b.add(3);
    };
    CHECK(cost_of(options, 100, set_anew) == 1100);
}

TEST_CASE("out of order: nothing updates a base register before a serializing fence is done") {
    auto behind_fence = [](const Insn &access) {
        return [=](Bench &b, int) {
            b.fence(Fence::Lfence);
            b.load(0, 8, access);
            for (int i = 0; i < 20; i++)
                b.add(3);
        };
    };
    Cycle apart = cost_of(wide(), 100, behind_fence(memory(3, 4)));
    CHECK(cost_of(wide(), 100, behind_fence(updating(true, 4))) == apart + 100);
}

TEST_CASE("out of order: a load takes its value from an older store, by fit") {
    auto through = [](uint64_t address, uint32_t stored, uint32_t loaded) {
        return [=](Bench &b, int) {
            b.store(address, stored, memory(3));
            b.load(0, loaded, memory(-1, 3));
        };
    };
    // A store executes when its data are there, and the load behind it takes its own time.
    CHECK(cost_of(wide(), 100, through(0, 8, 8)) == 400);
    CHECK(cost_of(wide(), 100, through(0, 8, 4)) == 600);
    // Retirement, drain (one cycle to begin, two to be seen), penalty, the load itself.
    CHECK(cost_of(wide(), 100, through(0, 4, 8)) == 100 * (1 + 2 + 11 + 5));
}

TEST_CASE("out of order: atomics follow each other, and hide what may pass them") {
    auto cas = [](Bench &b, int) { b.cas(0, Bench::with(Effect::Cas)); };
    auto beside = [&](Bench &b, int i) {
        cas(b, i);
        for (unsigned reg = 0; reg < 4; reg++)
            b.load(8, 8, memory(-1, int(reg)));
        b.load(8, 8, memory(3, 3));
    };
    Options options = wide();
    Cycle alone = cost_of(options, 100, cas);
    CHECK(alone >= 2000);
    CHECK(cost_of(options, 100, beside) > alone + 500);
    options.atomic_loads = 1;
    CHECK(cost_of(options, 100, beside) == alone);
}

TEST_CASE(
    "out of order: a store or a reload behind an atomic waits for its tail, an atomic does not") {
    auto cas = [](Bench &b, int) { b.cas(0, Bench::with(Effect::Cas)); };
    auto stored = [&](Bench &b, int i) {
        cas(b, i);
        b.store(8, 4, memory());
    };
    auto reloaded = [&](Bench &b, int i) {
        cas(b, i);
        b.load(0, 4, memory(-1, 3));
    };
    Options options = wide();
    options.atomic_loads = 1;
    Cycle alone = cost_of(options, 100, cas), store = cost_of(options, 100, stored),
          reload = cost_of(options, 100, reloaded);
    options.atomic_tail = 9;
    CHECK(cost_of(options, 100, cas) == alone);
    // A part of the tail passes while the store retires.
    CHECK(cost_of(options, 100, stored) > store + 100 * 6);
    CHECK(cost_of(options, 100, reloaded) == reload + 100 * 9);
}

TEST_CASE("out of order: an early result of an atomic is a load's, and its time hides behind it") {
    Options options = wide();
    options.atomic_loads = 1;
    // Additions need the CAS's result, and the next CAS needs theirs.
    auto chained = [](int adds) {
        return [=](Bench &b, int) {
            b.cas(0, Bench::with(Effect::Cas, 3, 3));
            for (int n = 0; n < adds; n++)
                b.add(3);
        };
    };
    Cycle late = cost_of(options, 100, chained(30));
    options.atomic_result = atomic_result::early;
    Cycle alone = cost_of(options, 100, chained(0)), early = cost_of(options, 100, chained(30));
    CHECK(alone >= 100 * (options.cas_success + options.lat_l1));
    CHECK(late >= alone + 100 * 25);
    // Thirty additions, and the result: what the CAS before wrote, loaded and compared.
    CHECK(early == 100 * (30 + options.lat_l1 + options.lat_alu));
    // What retires behind an atomic that waits to be the oldest adds to the next one's time.
    auto beside = [](Bench &b, int) {
        b.cas(0, Bench::with(Effect::Cas));
        for (unsigned n = 0; n < 80; n++)
            b.add(n % 16);
    };
    auto bare = [](Bench &b, int) { b.cas(0, Bench::with(Effect::Cas)); };
    CHECK(cost_of(options, 100, beside) >= cost_of(options, 100, bare) + 100 * 9);
}

TEST_CASE("out of order: a line that another core has gives no early result") {
    Options options = wide();
    options.atomic_loads = 1;
    options.atomic_result = atomic_result::early;
    auto run = [&](bool shared) {
        Bench bench(options, 2);
        for (int i = 0; i < 50; i++) {
            if (shared)
                bench.memory.read(1, 0, bench.core.cycles());
            bench.cas(0, Bench::with(Effect::Cas, 3, 3));
            for (int n = 0; n < 30; n++)
                bench.add(3);
        }
        return bench.cycles();
    };
    CHECK(run(true) > run(false) + 50 * 10);
}

TEST_CASE("out of order: an atomic takes its word from a store that has not drained") {
    Options options = wide();
    options.atomic_loads = 1;
    options.atomic_start = atomic_start::at_once;
    auto bare = [](Bench &b, int) { b.cas(0, Bench::with(Effect::Cas)); };
    auto behind_store = [](uint32_t size) {
        return [=](Bench &b, int) {
            b.store(0, size, memory());
            b.cas(0, Bench::with(Effect::Cas));
        };
    };
    Cycle alone = cost_of(options, 100, bare);
    CHECK(cost_of(options, 100, behind_store(4)) > alone + 100 * 2);
    options.atomic_forward = 7;
    CHECK(cost_of(options, 100, behind_store(4)) == alone);
    CHECK(cost_of(options, 100, behind_store(1)) > alone + 100 * 2); // it wrote less than the word
    // The store needs the result, and the next atomic what it stored.
    auto chain = [](Bench &b, int) {
        b.cas(0, Bench::with(Effect::Cas, -1, 3));
        b.store(0, 4, memory(3));
    };
    CHECK(cost_of(options, 100, chain) == 100 * (7 + options.cas_success));
    options.atomic_result = atomic_result::early;
    options.cas_success = 2;
    CHECK(cost_of(options, 100, chain) == 100 * (7 + options.lat_alu));
}

TEST_CASE("out of order: what an atomic with an early result wrote") {
    Options options = wide();
    options.atomic_loads = 1;
    options.atomic_start = atomic_start::at_once;
    options.atomic_result = atomic_result::early;
    options.atomic_written = atomic_written::early;
    // Additions need a load of the atomic's word, and the next atomic needs theirs.
    auto reloaded = [](bool exchanges) {
        return [=](Bench &b, int) {
            Insn atomic = Bench::with(exchanges ? Effect::Rmw : Effect::Cas, 3);
            atomic.exchanges = exchanges;
            if (exchanges)
                b.rmw(0, 4, atomic);
            else
                b.cas(0, atomic);
            b.load(0, 4, memory(-1, 3));
            for (int n = 0; n < 30; n++)
                b.add(3);
        };
    };
    Cycle result = options.lat_l1 + options.lat_alu, rest = options.lat_forward + 30;
    CHECK(cost_of(options, 100, reloaded(false)) == 100 * (result + rest));
    options.atomic_written = atomic_written::at_end;
    CHECK(cost_of(options, 100, reloaded(false)) ==
          100 * (options.lat_l1 + options.cas_success + rest));
    // What an exchange writes is known, whatever its word holds.
    CHECK(cost_of(options, 100, reloaded(true)) == 100 * (result + rest));
}

TEST_CASE("out of order: an atomic's write drains behind what is older, as a store does") {
    Options options = wide();
    options.atomic_loads = 1;
    options.atomic_start = atomic_start::at_once;
    options.atomic_result = atomic_result::early;
    options.rmw = 2;
    // The load needs more than the byte that the atomic wrote, and waits until that has drained;
    // the next atomic's write comes behind the load.
    auto narrow = [](Bench &b, int) {
        Insn atomic = Bench::with(Effect::Rmw);
        atomic.exchanges = true;
        b.rmw(0, 1, atomic);
        b.load(0, 4, memory(-1, 3));
    };
    Cycle turn = cost_of(options, 100, narrow) / 100;
    CHECK(turn >= options.forward_fail + options.lat_l1);
}

TEST_CASE("out of order: only what waits for operands has an entry of the scheduler") {
    Options options = wide();
    options.rob = options.load_queue = 1000;
    options.scheduler = 16;
    // An addition waits for a division, and those behind it for nothing.
    auto work = [](Bench &b, int) {
        Insn division;
        division.latency = Latency::Div;
        division.writes = register_bit(20);
        b.begin(division);
        b.add(20);
        for (unsigned n = 0; n < 16; n++)
            b.add(n);
    };
    CHECK(cost_of(options, 100, work) < 100 * options.lat_div / 4);
}

TEST_CASE("out of order: memory is renamed where both addresses are made alike") {
    auto through = [](uint64_t form) {
        return [=](Bench &b, int) {
            Insn store = memory(3), load = memory(-1, 3);
            store.address_form = 5;
            load.address_form = form;
            b.store(0, 8, store);
            b.load(0, 8, load);
        };
    };
    Options options = wide();
    CHECK(cost_of(options, 800, through(5)) == 3200);
    options.rename_memory = 1;
    CHECK(cost_of(options, 800, through(7)) == 3200);
    CHECK(cost_of(options, 800, through(5)) < 1000);
}

TEST_CASE("out of order: a store of a byte fails to forward at its own cost") {
    auto through = [](uint32_t stored) {
        return [=](Bench &b, int) {
            b.store(0, stored, memory(3));
            b.load(0, 8, memory(-1, 3));
        };
    };
    Options options = wide();
    Cycle word = cost_of(options, 100, through(4));
    CHECK(cost_of(options, 100, through(1)) == word);
    options.forward_fail_byte = 6;
    CHECK(cost_of(options, 100, through(1)) == word + 600);
    CHECK(cost_of(options, 100, through(4)) == word);
}

TEST_CASE("out of order: copies and what makes zero take no time where the core knows them") {
    auto copied = [](Bench &b, int i) {
        Insn copy;
        copy.copies = true;
        copy.reads = register_bit(unsigned(3 + i % 2));
        copy.writes = register_bit(unsigned(4 - i % 2));
        b.begin(copy);
    };
    auto zeroed = [](Bench &b, int) {
        Insn zero;
        zero.zeroes = true;
        zero.reads = zero.writes = register_bit(3);
        b.begin(zero);
        b.add(3);
    };
    Options options = wide();
    CHECK(cost_of(options, 800, copied) == 800);
    CHECK(cost_of(options, 400, zeroed) == 800);
    options.move_elimination = options.zero_idioms = 1;
    CHECK(cost_of(options, 800, copied) == 100);
    CHECK(cost_of(options, 400, zeroed) == 100);
}

TEST_CASE("out of order: fetch follows so many taken branches a cycle, and returns in their time") {
    auto jumps = [](Branch kind) {
        return [=](Bench &b, int i) {
            Insn branch;
            branch.branch = kind;
            b.begin(branch);
            b.pc = i % 2 ? 0x1000 : 0x8000;
        };
    };
    Options options = wide();
    CHECK(cost_of(options, 800, jumps(Branch::Direct)) == 800);
    options.taken_branches = 2;
    CHECK(cost_of(options, 800, jumps(Branch::Direct)) == 400);
    auto returns = [](Bench &b, int) {
        Insn call, back;
        call.branch = Branch::Call;
        b.pc = 0x1000;
        b.begin(call);
        b.pc = 0x8000;
        back.branch = Branch::Return;
        b.begin(back);
        b.pc = 0x1004;
        b.add(1);
    };
    Cycle fast = cost_of(options, 100, returns);
    options.taken_return = 3;
    CHECK(cost_of(options, 100, returns) == fast + 300);
}

TEST_CASE("out of order: so many multiplications and drains a cycle") {
    auto multiplied = [](Bench &b, int i) {
        Insn insn;
        insn.latency = Latency::Mul;
        insn.writes = register_bit(unsigned(i % 16));
        b.begin(insn);
    };
    auto stored = [](Bench &b, int i) { b.store(uint64_t(i % 8) * 64, 8, memory()); };
    Options options = wide();
    CHECK(cost_of(options, 800, multiplied) == 800);
    CHECK(cost_of(options, 800, stored) == 800);
    options.mul_ports = options.drain_width = 2;
    CHECK(cost_of(options, 800, multiplied) == 400);
    CHECK(cost_of(options, 800, stored) == 400);
    options.store_buffer = 64;
    options.store_ports = 4;
    auto to_one_line = [](Bench &b, int i) { b.store(uint64_t(i % 8) * 8, 8, memory()); };
    CHECK(cost_of(options, 800, to_one_line) == 200); // as many as execute
}

TEST_CASE("out of order: a store enters the window when it has an entry of the store buffer") {
    auto behind_miss = [](Bench &b, int i) { // its line comes from memory, 100 cycles away
        b.store(uint64_t(i) * 64, 8, memory());
        for (int n = 0; n < 7; n++)
            b.add(unsigned(n));
    };
    Options options = wide();
    options.warm = 0;
    options.store_order = store_order::any; // in order the next one would wait for its line anyway
    options.rob = options.scheduler = 256;
    options.store_buffer = 1;
    Cycle one = cost_of(options, 100, behind_miss);
    options.store_buffer = 4;
    Cycle four = cost_of(options, 100, behind_miss);
    CHECK(four * 3 < one);
    // What comes behind a store without an entry does not enter either, though the window has room.
    CHECK(one >= 100 * options.lat_memory);
}

TEST_CASE("out of order: an atomic's micro-operations take ports, and one entry of the scheduler") {
    auto swapped = [](Bench &b, int) {
        b.cas(0, Bench::with(Effect::Cas));
        for (int n = 0; n < 192; n++)
            b.add(unsigned(n % 16));
    };
    Options options = wide();
    options.rob = options.scheduler = 512;
    options.atomic_start = atomic_start::at_once;
    options.alu_ports = 4;
    options.atomic_micro_ops = 2;
    Cycle two = cost_of(options, 100, swapped);
    options.atomic_micro_ops = 18;
    CHECK(cost_of(options, 100, swapped) - two == 100 * 16 / 4);
    options.scheduler = 64;
    auto behind_chain = [](Bench &b, int) {
        for (int n = 0; n < 200; n++)
            b.add(1);
        b.cas(0, Bench::with(Effect::Cas));
    };
    Cycle full = cost_of(options, 100, behind_chain);
    options.atomic_micro_ops = 2;
    // The chain fills the scheduler: an entry a cycle comes free, and 16 more would take 16 cycles.
    CHECK(full - cost_of(options, 100, behind_chain) < 100 * 8);
}

TEST_CASE("out of order: the end of a serializing fence hides behind what follows") {
    auto fenced = [](Bench &b, int) {
        b.fence(Fence::Mfence);
        for (int n = 0; n < 40; n++)
            b.add(3);
    };
    auto bare = [](Bench &b, int) { b.fence(Fence::Mfence); };
    Options options = wide();
    options.full_fence = full_fence::serializing;
    Cycle whole = cost_of(options, 100, fenced), alone = cost_of(options, 100, bare);
    options.full_fence_hides = 20;
    CHECK(cost_of(options, 100, fenced) == whole - 2000);
    CHECK(cost_of(options, 100, bare) == alone);
}

TEST_CASE("out of order: a full fence waits for the drain, and may hold up all that follows") {
    auto fenced = [](Bench &b, int) {
        b.fence(Fence::Mfence);
        for (int i = 0; i < 20; i++)
            b.add(3);
    };
    Options options = wide();
    Cycle passing = cost_of(options, 50, fenced);
    options.full_fence = 1;
    CHECK(cost_of(options, 50, fenced) >= passing + 50 * 15);
    auto stored = [](Bench &b, int) {
        b.store(0, 8, memory());
        b.fence(Fence::Mfence);
    };
    auto bare = [](Bench &b, int) { b.fence(Fence::Mfence); };
    CHECK(cost_of(wide(), 50, stored) > cost_of(wide(), 50, bare));
}

TEST_CASE("out of order: the reorder buffer bounds what a miss hides") {
    auto miss = [](Bench &b, int i) {
        b.load(uint64_t(i % 2) * 64, 8, memory(3, 3)); // a chain of loads
        for (int n = 0; n < 15; n++)
            b.add(unsigned(8 + n % 8));
    };
    Options small = wide();
    small.rob = 8;
    CHECK(cost_of(small, 100, miss) > cost_of(wide(), 100, miss));
}

TEST_CASE("out of order: so many taken branches are in the window, which bounds what hides") {
    auto chain_and_branches = [](Bench &b, int) {
        for (int n = 0; n < 50; n++)
            b.add(1);
        for (int n = 0; n < 40; n++) {
            Insn branch;
            branch.branch = Branch::Direct;
            b.begin(branch);
            b.pc += 0x40;
        }
    };
    Options options = wide();
    Cycle hidden = cost_of(options, 50, chain_and_branches);
    CHECK(hidden <= 50 * 51);
    options.taken_in_flight = 10;
    CHECK(cost_of(options, 50, chain_and_branches) >= hidden + 50 * 25);
    options.taken_in_flight = 100;
    CHECK(cost_of(options, 50, chain_and_branches) == hidden);
}

TEST_CASE("out of order: with lines in flight a store is made when it retires") {
    auto made_after = [](uint32_t time_of_flight) {
        Options options = wide();
        options.time_of_flight = time_of_flight;
        Bench bench(options);
        for (int n = 0; n < 80; n++)
            bench.add(1);
        Insn insn = memory(2);
        insn.latency = Latency::Alu;
        const TimedInsn *store = bench.begin(insn);
        bench.core.before_access(*store);
        Cycle made = bench.core.access_cycle(*store);
        bench.core.store(*store, 0, 8);
        return made;
    };
    CHECK(made_after(0) < 100 + 80);
    CHECK(made_after(1) >= 100 + 80);
}

TEST_CASE("out of order: a misprediction is paid when the branch has executed") {
    Options options = wide();
    auto run = [&](bool late) {
        Bench bench(options);
        for (int i = 0; i < 200; i++) {
            bench.add(1);
            if (late) {
                for (int n = 0; n < 10; n++)
                    bench.add(2);
            }
            Insn branch;
            branch.branch = Branch::Indirect;
            branch.reads = register_bit(late ? 2 : 1);
            bench.begin(branch);
            bench.pc = 0x8000 + uint64_t(i) * 0x100; // never where it went before
        }
        bench.cycles();
        CHECK(bench.stalled(Stall::Mispredict) > 0);
        return bench.core.cycles();
    };
    // Fetch of the right path, and its way to the window, for each.
    CHECK(run(false) >= 200 * (options.mispredict + options.front_end));
    CHECK(run(true) >= run(false) + 200 * 9);
}

TEST_CASE("out of order: causes add up to the cycles whatever runs") {
    Bench bench;
    for (int i = 0; i < 300; i++) {
        bench.store(uint64_t(i % 3) * 4, 4, memory(2));
        bench.load(uint64_t(i % 2) * 64, 8, memory(2, 2));
        if (i % 5 == 0)
            bench.cas(0, Bench::with(Effect::Cas));
        if (i % 7 == 0)
            bench.fence(i % 2 ? Fence::Mfence : Fence::Lfence);
        Insn charge = Bench::with(Effect::Charge);
        charge.charge = Charge::Park;
        if (i % 50 == 0)
            bench.core.charge(*bench.begin(charge));
    }
    bench.cycles();
    CHECK(bench.stalled(Stall::Fence) > 0);
    CHECK(bench.stalled(Stall::Atomic) > 0);
    CHECK(bench.stalled(Stall::Charge) > 0);
}

TEST_CASE("out of order: the rest of an unpark holds up what follows the permit's store") {
    auto cost = [](Cycle longer) {
        Options options = wide();
        options.charge_unpark = 500;
        options.charge_sleeps_long = 1;
        options.charge_unpark_long = uint32_t(500 + longer);
        Bench bench(options);
        Insn charge = Bench::with(Effect::Charge);
        charge.charge = Charge::Unpark;
        bench.core.charge(*bench.begin(charge));
        bench.store(0, 8, memory());
        bench.core.end_unpark(Sleep::ForLong);
        bench.load(64, 8, memory(2, 2));
        Cycle cycles = bench.cycles(); // ends the block, and counts what is left
        CHECK(bench.stalled(Stall::Charge) >= 500 + longer - 10);
        return cycles;
    };
    CHECK(cost(3000) - cost(0) >= 3000 - 10);
    CHECK(cost(3000) - cost(0) <= 3000 + 10);
}

TEST_CASE("out of order: a process-wide barrier costs its caller and who is interrupted") {
    Options options = wide();
    options.charge_barrier = 300;
    options.charge_barrier_core = 70;
    options.charge_interrupt = 400;
    auto run = [&](bool barrier, uint32_t interrupts) {
        Bench bench(options);
        bench.store(0, 8, memory()); // misses
        Insn charge = Bench::with(Effect::Charge);
        charge.charge = Charge::Barrier;
        if (barrier)
            bench.core.barrier(*bench.begin(charge), 3);
        if (interrupts) {
            bench.core.end_block();
            bench.core.interrupt(interrupts);
        }
        bench.load(64, 8, memory(2, 2));
        Cycle cycles = bench.cycles();
        CHECK(bench.counts[0].interrupts == interrupts);
        CHECK(bench.counts[0].charges[size_t(Charge::Barrier)] == barrier);
        bool both = barrier || interrupts;
        CHECK((bench.stalled(Stall::Drain) > 0) == both);
        return cycles;
    };
    Cycle miss = run(false, 0);
    CHECK(run(true, 0) >= 300 + 3 * 70 + miss);
    CHECK(run(false, 1) >= 400 + miss);
    CHECK(run(false, 2) == run(false, 1) + 400);
}

TEST_CASE("out of order: stores drain in the order that the ISA demands") {
    // Two stores to lines of two cores' making are slow; a fence shows when all have drained.
    auto fenced = [](store_order::Value order) {
        return [order](Bench &b, int i) {
            for (uint64_t n = 0; n < 4; n++)
                b.store(n * 64 + uint64_t(i % 2) * 256, 8, memory());
            b.fence(Fence::Mfence);
        };
    };
    auto cost = [&](store_order::Value order) {
        Options options = wide();
        options.store_order = uint32_t(order);
        options.lat_drain = 10;
        return cost_of(options, 50, fenced(order));
    };
    CHECK(cost(store_order::any) < cost(store_order::in_order));
    CHECK(cost(store_order::in_order) + 50 * 20 < cost(store_order::one_by_one));
}

TEST_CASE("out of order: a release store drains last, and an acquire load may wait for it") {
    Insn release = memory(), acquire = memory(-1, 3);
    release.release = acquire.acquire = true;
    auto pair = [&](Bench &b, int) {
        b.store(0, 8, release);
        b.load(64, 8, acquire);
        b.add(3);
    };
    Options options = wide();
    options.store_order = store_order::any;
    Cycle waits = cost_of(options, 100, pair);
    options.acquire_load = 1;
    CHECK(cost_of(options, 100, pair) < waits);
}

TEST_CASE("out of order: queues and miss buffers bound what is in flight") {
    auto behind_a_product = [](Bench &b, int) {
        Insn product;
        product.latency = Latency::Div;
        product.reads = product.writes = register_bit(5);
        b.begin(product);
        for (unsigned n = 0; n < 8; n++)
            b.load(0, 8, memory(n == 0 ? 5 : -1, 6));
    };
    Options few = wide();
    few.load_queue = 2;
    few.width = 1;
    CHECK(cost_of(few, 100, behind_a_product) > cost_of(wide(), 100, behind_a_product));
    Options cold = wide();
    cold.warm = 0;
    cold.lat_memory = 100;
    cold.l1_size = cold.l2_size = 2048;
    cold.l1_ways = cold.l2_ways = 1;
    auto miss = [](Bench &b, int i) { b.load(uint64_t(i % 2) * 2048, 8, memory(-1, 6)); };
    cold.miss_buffers = 1;
    Cycle one = cost_of(cold, 100, miss);
    cold.miss_buffers = 8;
    CHECK(cost_of(cold, 100, miss) * 4 < one);
}

TEST_CASE("out of order: an atomic takes its places, a fused branch none") {
    auto cas = [](Bench &b, int) { b.cas(0, Bench::with(Effect::Cas)); };
    Options options = wide();
    options.cas_success = 0;
    options.lat_l1 = 1;
    options.atomic_start = 0;
    Cycle one = cost_of(options, 100, cas);
    options.atomic_micro_ops = 64;
    CHECK(cost_of(options, 100, cas) > one + 500);
}

TEST_CASE("out of order: a locked instruction of gem5 is a load and a store between two fences") {
    Insn locked = Bench::with(Effect::Cas);
    locked.micro_ops = {'f', 'l', 'o', 's', 'f'};
    auto cas = [&](Bench &b, int) { b.cas(0, locked); };
    Options options = wide();
    options.cas_success = 0;
    Cycle whole = cost_of(options, 100, cas);
    options.micro_operations = 1;
    options.lat_oldest = 3;
    Bench bench(options);
    for (int i = 0; i < 100; i++)
        cas(bench, i);
    Cycle cracked = bench.cycles();
    CHECK(cracked > whole);
    CHECK(bench.stalled(Stall::Fence) >= 100 * 3);
}

TEST_CASE("out of order: a load behind a fence that an older store overtakes is fetched again") {
    auto round = [](Bench &b, int) {
        b.fence(Fence::Mfence);
        b.load(128, 8, memory(-1, 3));
        for (int n = 0; n < 10; n++)
            b.add(3);
        b.store(0, 8, memory(3));    // its data come late
        b.load(8, 8, memory(-1, 3)); // in the same block of 16 bytes
    };
    Options options = wide();
    options.lat_forward = 1;
    Cycle exact = cost_of(options, 50, round);
    options.alias_bytes = 16;
    Cycle predicted = cost_of(options, 50, round);
    CHECK(predicted > exact);
    options.unpredicted_stores = 1;
    Cycle squashed = cost_of(options, 50, round);
    CHECK(squashed >= predicted + 50 * options.mispredict);
    options.squash_width = 1;
    CHECK(cost_of(options, 50, round) > squashed);
}

TEST_CASE("out of order: fetch goes from line to line, a no-op needs no port") {
    auto add = [](Bench &b, int i) { b.add(unsigned(i % 16)); };
    Options options = wide();
    Cycle at_once = cost_of(options, 800, add);
    options.fetch_line = 4;
    CHECK(cost_of(options, 800, add) >= at_once + 800 / 16 * 2);
    auto nop = [](Bench &b, int) {
        Insn insn;
        insn.nop = true;
        b.begin(insn);
    };
    Options one_port = wide();
    one_port.alu_ports = 1;
    CHECK(cost_of(one_port, 800, nop) == 100);
}

TEST_CASE("out of order: a load takes no value from a store that another core has overwritten") {
    auto cost = [](bool overwritten) {
        Options options = wide();
        options.lat_drain = 500;
        Bench bench(options, 2);
        bench.store(0, 8, memory());
        if (overwritten)
            bench.memory.get_exclusive(1, 0, 700, CoherenceEvent::Store, 0);
        bench.load(0, 8, memory(-1, 3));
        return bench.cycles();
    };
    CHECK(cost(false) < 100);
    CHECK(cost(true) > 500);
}

TEST_CASE("out of order: loads of a line under way wait for it once, however many there are") {
    Options options = wide();
    options.warm = 0;
    options.lat_memory = 1000;
    options.miss_buffers = 2;
    Bench bench(options);
    bench.store(0, 8, memory());
    for (int i = 0; i < 40; i++)
        bench.load(8, 8, memory(-1, 3));
    CHECK(bench.cycles() < 1200);
}

namespace {
Options far_away() {
    Options options = wide();
    options.time_of_flight = 1;
    options.lat_far_atomic = 180;
    options.far_atomic_every = 75;
    options.store_order = store_order::any;
    options.rmw = 10;
    return options;
}

void add_to_memory(Bench &b, bool returns, uint64_t address = 0) {
    Insn add = Bench::with(Effect::Rmw, returns ? 3 : -1, returns ? 3 : -1);
    add.may_be_far = true;
    add.returns = returns;
    b.rmw(address, 4, add);
}
} // namespace

TEST_CASE("out of order: an atomic that returns a value waits for the line's home and back") {
    auto add = [](Bench &b, int) { add_to_memory(b, true); };
    Options options = far_away();
    CHECK(cost_of(options, 100, add) == 100 * (5 + 10));
    options.returning_atomics = returning_atomics::far;
    CHECK(cost_of(options, 100, add) == 100 * (180 + 10));
    options.returning_atomics = returning_atomics::far_unless_owned; // which it never is
    CHECK(cost_of(options, 100, add) == 100 * (180 + 10));
    auto stored = [&](Bench &b, int i) {
        b.store(8, 4, memory());
        add(b, i);
    };
    CHECK(cost_of(options, 100, stored) < 100 * 180); // the store has got the line
    options.returning_atomics = returning_atomics::far;
    CHECK(cost_of(options, 100, stored) > 100 * 180);
}

TEST_CASE("out of order: an atomic that returns nothing drains as a store, one each time the home "
          "takes another") {
    auto add = [](Bench &b, int) { add_to_memory(b, false); };
    auto fenced = [&](Bench &b, int i) {
        add(b, i);
        b.fence(Fence::Dmb);
    };
    Options options = far_away();
    CHECK(cost_of(options, 100, add) == 100 * (5 + 10));
    options.store_atomics = store_atomics::far;
    options.store_buffer = 8;
    CHECK(cost_of(options, 100, add) == 100 * 75);
    auto others = [&](Bench &b, int i) { add_to_memory(b, false, 64 * (i % 4)); };
    CHECK(cost_of(options, 100, others) < 100 * 40);
    options.fence_dmb = 0;
    CHECK(cost_of(options, 100, fenced) >= 100 * (180 + 10)); // it waits until that is done
    // A load has nothing from an addition that has not been made yet.
    auto reloaded = [&](Bench &b, int i) {
        add(b, i);
        b.load(0, 4, memory(-1, 3));
    };
    CHECK(cost_of(options, 100, reloaded) >= 100 * (180 + 10));
}
