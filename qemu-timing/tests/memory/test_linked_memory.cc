#include "base/counts.h"
#include "memory/completion.h"
#include "memory/linked_memory.h"
#include "memory/memory.h"
#include "scripted_simulator.h"

#include <cstdint>
#include <doctest/doctest.h>

using namespace lockcross;

TEST_CASE("linked memory: a miss takes the simulator's time, a hit none of its turns") {
    LinkedBench bench;
    AccessDelay miss = bench.memory.read(0, 3, 100);
    CHECK(miss.conflict_wait == 0);
    CHECK(miss.latency == kLatency);
    CHECK(miss.cause == Stall::Memory);
    CHECK(bench.memory.has_copy(0, 3));
    uint64_t turns = bench.memory.use()->turns;
    CHECK(bench.memory.read(0, 3, 200).total() == 0);
    CHECK(bench.memory.read(0, 3, 201).total() == 0);
    CHECK(bench.memory.use()->turns == turns);
    CHECK(bench.memory.use()->touches == 1); // once since the last miss
    bench.memory.read(0, 4, 300);
    CHECK(bench.script->touched.size() == 1);
    CHECK(bench.memory.use()->requests == 2);
}

TEST_CASE("linked memory: the owner of the only copy writes it without a request") {
    LinkedBench bench;
    bench.memory.read(0, 3, 0);
    CHECK(bench.memory.is_exclusive(0, 3));
    CHECK(bench.memory.get_exclusive(0, 3, 100, CoherenceEvent::Atomic, 0).total() == 0);
    CHECK(bench.memory.use()->requests == 1);
    CHECK(bench.memory.get_exclusive(0, 3, 200, CoherenceEvent::Atomic, 0).total() == 0);
    bench.memory.read(0, 4, 250); // sends what came before
    CHECK(bench.script->touched.front().kind == RequestKind::TouchWrite);
    // Another core's read takes the right to write away.
    CHECK(bench.memory.read(1, 3, 300).cause == Stall::Transfer);
    CHECK_FALSE(bench.memory.is_exclusive(0, 3));
    CHECK(bench.memory.get_exclusive(0, 3, 400, CoherenceEvent::Store, 0).cause == Stall::Upgrade);
    CHECK_FALSE(bench.memory.has_copy(1, 3));
}

TEST_CASE("linked memory: a store drains while its core goes on") {
    LinkedBench bench;
    Completion drained = bench.memory.drain(0, 3, 100);
    CHECK_FALSE(drained.known());
    CHECK_FALSE(bench.memory.is_done(drained, 120));
    CHECK(bench.memory.when(0, drained) == 100 + kLatency);
    CHECK(bench.memory.is_done(drained, 150));
    CHECK(bench.memory.when(0, drained + 7) == 157);
}

TEST_CASE("linked memory: a store that waits for another one is sent when that is done") {
    LinkedBench bench;
    Completion first = bench.memory.drain(0, 3, 100);
    Completion second = bench.memory.drain(0, 4, bench.memory.later(101, first + kL1));
    CHECK(bench.memory.when(0, second) == 100 + 2 * kLatency + kL1);
    CHECK(bench.script->sent[1].cycle == 100 + kLatency + kL1);
}

TEST_CASE("linked memory: an access waits for a conflicting one in flight") {
    LinkedBench bench;
    Completion drained = bench.memory.drain(0, 3, 100);
    bench.memory.write_in_flight_until(0, 3, drained + 10);
    AccessDelay read = bench.memory.read(1, 3, 110);
    CHECK(read.conflict_wait == kLatency + 10 - 10);
    CHECK(read.latency == kLatency);
    CHECK(bench.counts[1].holds == 1);
    CHECK(bench.memory.use()->late == 0);
}

TEST_CASE("linked memory: a request in the simulator's past is late, and counts from there") {
    LinkedBench bench;
    bench.memory.read(0, 3, 100);
    CHECK(bench.memory.read(0, 4, 110).latency == kLatency);
    CHECK(bench.memory.use()->late == 41); // the clock was at 151
    CHECK(bench.memory.read(0, 5, 161).latency == kLatency);
    CHECK(bench.memory.use()->late == 41); // it stays ahead by as much
}

TEST_CASE("linked memory: a reservation is lost to a writer") {
    LinkedBench bench;
    bench.memory.reserve(0, 3);
    bench.memory.read(0, 3, 0);
    CHECK(bench.memory.is_reserved(0, 0));
    bench.memory.get_exclusive(1, 3, 100, CoherenceEvent::Atomic, 0);
    CHECK_FALSE(bench.memory.is_reserved(0, 0));
}
