#include "base/counts.h"
#include "base/options.h"
#include "memory/cache_hierarchy.h"
#include "memory/line_id.h"
#include "memory/memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace lockcross;

namespace {

struct System {
    Options options;
    std::vector<Counts> counts;
    CacheHierarchy memory;

    explicit System(uint32_t cores, uint32_t lines = 64, Options o = Options())
        : options(o), counts(cores), memory(options, lines, counts) {}

    Cycle read(uint32_t core, LineId line, Cycle now) {
        return memory.read(core, line, now).total();
    }
    Cycle write(uint32_t core, LineId line, Cycle now) {
        Cycle delay = memory.get_exclusive(core, line, now, CoherenceEvent::Store, 0).total();
        memory.write_in_flight_until(core, line, now + delay);
        return delay;
    }
    uint64_t count(uint32_t core, CoherenceEvent event, Mesi state) {
        return counts[core].coherence[size_t(event)][size_t(state)];
    }
};

constexpr Cycle kApart = 100000; // far enough that nothing is in flight any more

} // namespace

TEST_CASE("caches: latencies of the MESI transitions") {
    System s(3);
    const Options &o = s.options;
    CHECK(s.read(0, 1, 0) == o.lat_memory); // I -> E
    CHECK(s.memory.state(0, 1) == Mesi::E);
    CHECK(s.read(0, 1, kApart) == 0);
    CHECK(s.write(0, 1, kApart) == 0); // E -> M, silently
    CHECK(s.memory.state(0, 1) == Mesi::M);
    CHECK(s.read(1, 1, 2 * kApart) == o.lat_dirty); // from M
    CHECK(s.memory.state(0, 1) == Mesi::S);
    CHECK(s.memory.state(1, 1) == Mesi::S);
    CHECK(s.read(2, 1, 3 * kApart) == o.lat_l2); // clean
    CHECK(s.write(2, 1, 4 * kApart) == o.lat_upgrade + o.lat_invalidate);
    CHECK(s.memory.state(0, 1) == Mesi::I);
    CHECK(s.memory.state(1, 1) == Mesi::I);
    CHECK(s.write(0, 1, 5 * kApart) == o.lat_dirty); // M moves
    CHECK(s.memory.state(2, 1) == Mesi::I);
}

TEST_CASE("caches: a store to a line that others share fetches and invalidates") {
    System s(3);
    s.read(0, 1, 0);
    s.read(1, 1, kApart);
    CHECK(s.write(2, 1, 2 * kApart) == s.options.lat_l2 + s.options.lat_invalidate);
    CHECK(s.count(0, CoherenceEvent::Invalidated, Mesi::S) == 1);
    CHECK(s.count(1, CoherenceEvent::Invalidated, Mesi::S) == 1);
}

TEST_CASE("caches: an access waits for a conflicting one of another core in flight") {
    System s(2);
    const Options &o = s.options;
    Cycle done = s.write(0, 1, 0);
    CHECK(s.read(1, 1, 10) == (done - 10) + o.lat_dirty); // held, then transferred
    CHECK(s.counts[1].holds == 1);

    System reads(2);
    Cycle filled = reads.read(0, 1, 0);
    CHECK(reads.write(1, 1, 10) == (filled - 10) + o.lat_dirty);
    CHECK(reads.counts[1].holds == 1);
}

TEST_CASE(
    "caches: a later, quicker access of the writer does not end the hold of its earlier one") {
    System s(2);
    s.write(0, 1, 0);
    s.memory.write_in_flight_until(0, 1, 500);
    s.memory.write_in_flight_until(0, 1, 300);
    CHECK(s.memory.read(1, 1, 400).conflict_wait == 100);
}

TEST_CASE("caches: reads do not hold each other, nor a core its own accesses") {
    System s(3);
    s.read(0, 1, 0);
    CHECK(s.read(1, 1, 1) == s.options.lat_dirty);
    CHECK(s.counts[1].holds == 0);
    System alone(1);
    Cycle done = alone.write(0, 1, 0);
    CHECK(alone.read(0, 1, 10) == done - 10); // waits for its own fill
    CHECK(alone.counts[0].holds == 0);
}

TEST_CASE("caches: a reservation is lost when another core takes the line, not when one reads it") {
    System s(2);
    s.read(0, 1, 0);
    s.memory.reserve(0, 1);
    s.read(1, 1, kApart);
    CHECK(s.memory.is_reserved(0, 2 * kApart));
    s.write(1, 1, 2 * kApart);
    CHECK_FALSE(s.memory.is_reserved(0, 2 * kApart));
}

TEST_CASE(
    "caches: an evicted line is fetched again from the L2, and from memory if it left that too") {
    Options o;
    o.l1_size = 64;
    o.l1_ways = 1;
    o.l2_size = 128;
    o.l2_ways = 2;
    System s(1, 64, o);
    s.write(0, 0, 0);
    s.read(0, 1, kApart);
    CHECK(s.count(0, CoherenceEvent::Evicted, Mesi::M) == 1);
    CHECK(s.read(0, 0, 2 * kApart) == o.lat_l2);
    s.read(0, 2, 3 * kApart); // the L2 holds two lines: 1 leaves
    CHECK(s.read(0, 1, 4 * kApart) == o.lat_memory);
}

TEST_CASE("caches: random accesses keep a single writer and count every access once") {
    Options o;
    o.l1_size = 4 * 64;
    o.l1_ways = 2;
    o.l2_size = 8 * 64;
    o.l2_ways = 2;
    constexpr uint32_t kCores = 4, kLines = 16;
    System s(kCores, kLines, o);
    std::mt19937 random(7);
    uint64_t accesses = 0;
    for (Cycle now = 0; now < 50000; now++) {
        uint32_t core = random() % kCores;
        LineId line = random() % kLines;
        bool is_write = random() % 3 == 0;
        accesses++;
        is_write ? s.write(core, line, now) : s.read(core, line, now);
        REQUIRE(s.memory.state(core, line) != Mesi::I);
        if (is_write)
            REQUIRE(s.memory.state(core, line) == Mesi::M);
        uint32_t exclusive = 0, valid = 0;
        for (uint32_t other = 0; other < kCores; other++) {
            Mesi state = s.memory.state(other, line);
            valid += state != Mesi::I;
            exclusive += state == Mesi::E || state == Mesi::M;
        }
        REQUIRE((exclusive == 0 || valid == 1));
    }
    uint64_t counted = 0;
    for (uint32_t core = 0; core < kCores; core++) {
        for (CoherenceEvent event : {CoherenceEvent::Load, CoherenceEvent::Store}) {
            for (uint64_t n : s.counts[core].coherence[size_t(event)])
                counted += n;
        }
    }
    CHECK(counted == accesses);
}

TEST_CASE("in a warm system only the first access to a line is free") {
    Options options;
    options.warm = 1;
    System system(2, 64, options);
    CHECK(system.read(0, 3, 0) == 0);
    CHECK(system.write(1, 4, 0) == 0);
    // From then on lines move as ever.
    CHECK(system.write(1, 3, kApart) == options.lat_dirty);
    CHECK(system.read(0, 4, kApart) == options.lat_dirty);
}

namespace {

Options in_flight() {
    Options options;
    options.time_of_flight = 1;
    options.lat_dirty = options.lat_upgrade = 90;
    options.lat_invalidate = 0;
    return options;
}

// Lines 1 to 8 belong to core 0, which has written them.
System with_lines_of_core_0(Options options) {
    options.warm = 1;
    System system(3, 64, options);
    for (LineId line = 1; line <= 8; line++)
        system.write(0, line, 0);
    return system;
}

} // namespace

TEST_CASE("in flight: a copy serves its core until a request for it arrives") {
    System s = with_lines_of_core_0(in_flight());
    CHECK(s.memory.get_exclusive(1, 1, kApart, CoherenceEvent::Atomic, 20).total() == 90);
    CHECK(s.memory.state(0, 1) == Mesi::I);
    CHECK(s.read(0, 1, kApart + 59) == 0);
    CHECK(s.memory.get_exclusive(0, 1, kApart + 59, CoherenceEvent::Atomic, 0).total() == 0);
    CHECK(s.counts[0].holds == 0);
    // Then it asks for the line, which the home serves when core 1 has said that it has it, and
    // core 1 gives up when its atomic is done.
    AccessDelay back = s.memory.read(0, 1, kApart + 61);
    CHECK(back.latency == 90);
    CHECK(61 + back.total() == 90 + 30 + 30 + 30);
}

TEST_CASE("in flight: what a store has taken is read only when that has drained") {
    System s = with_lines_of_core_0(in_flight());
    Completion owned = s.memory.drain(1, 1, kApart);
    CHECK(owned.cycle == kApart + 90);
    s.memory.write_in_flight_until(1, 1, kApart + 300);
    Cycle arrived = 10 + s.read(0, 1, kApart + 10);
    CHECK(arrived == 300 + 30); // core 1 has it until then, and then it is on its way
}

TEST_CASE("in flight: requests for one line are served one after another, others together") {
    System s = with_lines_of_core_0(in_flight());
    CHECK(s.write(1, 1, kApart) == 90);
    CHECK(s.write(2, 1, kApart) == 90 + 90); // the way to the home is hidden
    CHECK(s.write(1, 2, kApart) == 90);
    CHECK(s.write(2, 3, kApart) == 90);
}

TEST_CASE("in flight: two cores that add to one line keep it for several additions each") {
    System s = with_lines_of_core_0(in_flight());
    constexpr Cycle kAdd = 20;
    Cycle now[2] = {kApart, kApart};
    uint64_t done[2] = {0, 0};
    while (done[0] < 3000) {
        uint32_t core = now[0] <= now[1] ? 0 : 1;
        Cycle delay =
            s.memory.get_exclusive(core, 1, now[core], CoherenceEvent::Atomic, kAdd).total();
        now[core] += delay + kAdd;
        done[core]++;
    }
    // Of each 180 cycles in which the line goes there and back, a core has it for 60 to 80.
    Cycle each = (now[0] - kApart) / done[0];
    CHECK(each >= 180 / 4);
    CHECK(each <= 180 / 3);
    CHECK(done[1] >= done[0] * 9 / 10);
    CHECK(done[1] <= done[0] * 11 / 10);
}

TEST_CASE("in flight: cores without reservation take the line in turn, each for its pair") {
    Options options = in_flight();
    options.reservation_kept = 100;
    System s = with_lines_of_core_0(options);
    auto take = [&](uint32_t core, Cycle now) {
        return now + s.memory.take_for_reservation(core, 1, now).total();
    };
    Cycle one = take(1, kApart), two = take(2, kApart);
    CHECK(one == kApart + 90);
    CHECK(two == one + 100 + 1 + 30); // nobody knows yet how long core 1 needs it
    s.memory.reserve(1, 1);
    CHECK(s.memory.is_reserved(1, one + 100));
    CHECK_FALSE(s.memory.is_reserved(1, one + 101));
    CHECK(s.memory.get_exclusive(1, 1, one + 20, CoherenceEvent::Atomic, 10).total() == 0);
    s.memory.clear_reservation(1);
    s.memory.reserve(2, 1);
    CHECK(s.memory.is_reserved(2, two));
    // Its pair took 30 cycles, and so may the next: the request for the line comes later than that.
    Cycle again = take(1, two);
    CHECK(take(0, two) == again + 90);
    // One that takes longer has lost the line, and has more time when it tries again.
    s.memory.reserve(1, 1);
    CHECK(s.memory.is_reserved(1, again + 59));
    CHECK_FALSE(s.memory.is_reserved(1, again + 60));
    Cycle third = take(1, 2 * kApart);
    s.memory.reserve(1, 1);
    take(0, third);
    CHECK(s.memory.is_reserved(1, third + 100));
    // A store takes a reservation at once: its value is there.
    s.memory.drain(2, 1, third);
    CHECK_FALSE(s.memory.is_reserved(1, third + 1));
}

TEST_CASE("in flight: the home answers those that read one line, one after another if it waits") {
    Options options = in_flight();
    options.warm = options.readers_in_turn = 1;
    auto shared = [](const Options &of) { // by cores 0 and 1
        System s(5, 64, of);
        s.write(0, 1, 0);
        s.read(1, 1, kApart);
        return s;
    };
    System s = shared(options);
    CHECK(s.read(2, 1, 2 * kApart) == 60);
    CHECK(s.read(3, 1, 2 * kApart) == 60 + 60);
    CHECK(s.read(4, 1, 2 * kApart + 10) == 60 + 2 * 60 - 10);
    // Then the copies of all are to be taken away.
    CHECK(s.write(0, 1, 3 * kApart) == 90);
    options.readers_in_turn = 0;
    System at_once = shared(options);
    CHECK(at_once.read(2, 1, 2 * kApart) == 60);
    CHECK(at_once.read(3, 1, 2 * kApart) == 60);
    options.readers_in_turn = 1;
    System writer = shared(options);
    CHECK(writer.write(2, 1, 2 * kApart) == 90); // it had none itself
    options.lat_shared = 20;
    System near = shared(options);
    CHECK(near.read(2, 1, 2 * kApart) == 20);
    CHECK(near.read(3, 1, 2 * kApart) == 20 + 20);
    options.cluster = 2;
    options.lat_dirty_far = 300;
    System far = shared(options);
    CHECK(far.read(2, 1, 2 * kApart) == 200);
    CHECK(far.read(3, 1, 3 * kApart) == 20); // from core 2's cluster
}

TEST_CASE("in flight: a core that has the data waits for the right to write alone") {
    System s = with_lines_of_core_0(in_flight());
    s.read(1, 1, kApart);
    CHECK(s.memory.state(1, 1) == Mesi::S);
    CHECK(s.memory.get_exclusive(1, 1, 2 * kApart, CoherenceEvent::Atomic, 0).total() == 90);
    CHECK(s.read(1, 1, 2 * kApart + 10) == 0);
}

TEST_CASE("migratory: a read of a line that was written takes it whole, of another a copy") {
    Options options = in_flight();
    options.migratory = 1;
    System s = with_lines_of_core_0(options);
    CHECK(s.read(1, 1, kApart) == 90);
    CHECK(s.memory.state(1, 1) == Mesi::E);
    CHECK(s.memory.state(0, 1) == Mesi::I);
    CHECK(s.write(1, 1, 2 * kApart) == 0);
    s.read(2, 1, 3 * kApart);
    CHECK(s.memory.state(2, 1) == Mesi::E);
    s.read(0, 1, 4 * kApart); // core 2 has not written it
    CHECK(s.memory.state(2, 1) == Mesi::S);
    CHECK(s.memory.state(0, 1) == Mesi::S);
}

TEST_CASE("a line that was asked for early is there earlier, and counts as what it was") {
    Options options = in_flight();
    options.ask_early = 1;
    System s = with_lines_of_core_0(options);
    s.memory.prefetch_m(1, 1, kApart, CoherenceEvent::Store);
    CHECK(s.memory.is_exclusive(1, 1));
    CHECK(s.memory.drain(1, 1, kApart + 50).cycle == kApart + 90);
    CHECK(s.count(1, CoherenceEvent::Store, Mesi::I) == 1);
    CHECK(s.memory.drain(1, 1, kApart + 200).cycle == kApart + 200);
    CHECK(s.count(1, CoherenceEvent::Store, Mesi::M) == 1);
    options.ask_early = 0;
    System never = with_lines_of_core_0(options);
    never.memory.prefetch_m(1, 1, kApart, CoherenceEvent::Store);
    CHECK_FALSE(never.memory.is_exclusive(1, 1));
}

TEST_CASE("jitter: so many cycles more at most, by the seed, and none without it") {
    Options options = in_flight();
    options.lat_jitter = 8;
    auto latencies = [](const Options &of) {
        System s = with_lines_of_core_0(of);
        std::vector<Cycle> all;
        for (Cycle i = 1; i <= 40; i++)
            all.push_back(s.write(i % 2 ? 1 : 0, 1, i * kApart));
        return all;
    };
    std::vector<Cycle> drawn = latencies(options);
    CHECK(*std::min_element(drawn.begin(), drawn.end()) >= 90);
    CHECK(*std::max_element(drawn.begin(), drawn.end()) <= 98);
    CHECK(*std::max_element(drawn.begin(), drawn.end()) > 94);
    CHECK(drawn == latencies(options));
    options.seed = 1;
    CHECK(drawn != latencies(options));
    options.lat_jitter = 0;
    CHECK(latencies(options) == std::vector<Cycle>(40, 90));
}

TEST_CASE("clusters: what a core of another cluster has takes longer") {
    Options options;
    options.lat_invalidate = 0;
    options.cluster = 2;
    options.lat_dirty_far = 300;
    options.lat_upgrade_far = 250;
    for (uint32_t flight : {0, 1}) {
        options.time_of_flight = flight;
        System s(4, 64, options);
        s.write(0, 1, 0);
        CHECK(s.read(1, 1, kApart) == options.lat_dirty);
        CHECK(s.write(1, 1, 2 * kApart) == options.lat_upgrade);
        CHECK(s.read(2, 1, 3 * kApart) == 300);
        CHECK(s.write(1, 1, 4 * kApart) == 250);
        CHECK(s.write(3, 1, 5 * kApart) == 300);
        CHECK(s.write(2, 1, 6 * kApart) == options.lat_dirty);
    }
    options.cluster = 0;
    System near = System(4, 64, options);
    near.write(0, 1, 0);
    CHECK(near.read(3, 1, kApart) == options.lat_dirty);
}

namespace {
Options far_options() {
    Options options;
    options.time_of_flight = options.warm = 1;
    options.lat_far_atomic = 100;
    options.far_atomic_every = 30;
    options.lat_dirty = 90;
    options.lat_upgrade = 60;
    options.lat_invalidate = 0;
    return options;
}
} // namespace

TEST_CASE("caches: an atomic at a line's home takes all copies, and leaves none") {
    System s(3, 64, far_options());
    CHECK(s.memory.far_atomic(0, 1, 0).total() == 0); // nobody has a copy
    CHECK(s.count(0, CoherenceEvent::Atomic, Mesi::I) == 1);
    s.write(1, 1, kApart);
    CHECK(s.memory.far_atomic(0, 1, 2 * kApart).latency == 60); // from the owner: two ways of three
    CHECK(s.memory.state(1, 1) == Mesi::I);
    CHECK(s.memory.state(0, 1) == Mesi::I);
    s.write(0, 1, 3 * kApart);
    CHECK(s.memory.far_atomic(0, 1, 4 * kApart).latency == 60); // from the core itself
    CHECK(s.count(0, CoherenceEvent::Atomic, Mesi::M) == 1);
    s.read(0, 1, 5 * kApart);
    s.read(1, 1, 6 * kApart);
    AccessDelay shared = s.memory.far_atomic(2, 1, 7 * kApart);
    CHECK(shared.latency == 40);
    CHECK(shared.cause == Stall::Upgrade);
    CHECK(s.memory.state(0, 1) == Mesi::I);
    CHECK(s.read(0, 1, 8 * kApart) == s.options.lat_l2); // the home has it
}

TEST_CASE("caches: atomics at a line's home follow one another, and what follows waits") {
    System s(4, 64, far_options());
    CHECK(s.memory.far_atomic(0, 1, 0).conflict_wait == 0);
    CHECK(s.memory.far_atomic(1, 1, 0).conflict_wait == 30);
    CHECK(s.memory.far_atomic(2, 1, 10).conflict_wait == 50);
    CHECK(s.memory.far_atomic(0, 2, 10).conflict_wait == 0); // another line
    // They are served at 50, 80 and 110; a reader's request is there at 60 + 12 / 3.
    AccessDelay read = s.memory.read(3, 1, 60);
    CHECK(read.conflict_wait == 110 + 30 - (60 + s.options.lat_l2 / 3));
}

TEST_CASE("caches: an atomic at a line's home waits for a write in flight") {
    System s(2, 64, far_options());
    s.write(0, 1, 0);
    s.memory.write_in_flight_until(0, 1, 1000);
    AccessDelay delay = s.memory.far_atomic(1, 1, 0);
    CHECK(50 + delay.conflict_wait + 30 == 1000); // the request for the copy reaches the core then
}
