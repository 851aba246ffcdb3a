#include "base/counts.h"
#include "flat_memory.h"
#include "memory/completion.h"
#include "memory/store_buffer.h"

#include <doctest/doctest.h>

using namespace lockcross;
using Match = StoreBuffer::Match;

TEST_CASE("store buffer: a load finds the youngest store that overlaps it") {
    FlatMemory memory;
    StoreBuffer buffer(4, memory, 0);
    buffer.push(0x100, 8, 0, 10, false);
    buffer.push(0x104, 4, 10, 30, false);
    CHECK(buffer.lookup(0x104, 4, 0).match == Match::Forward);
    CHECK(buffer.lookup(0x100, 4, 0).match == Match::Forward);
    CHECK(buffer.lookup(0x108, 4, 0).match == Match::None);
    // The wider load needs bytes of two stores: it waits for the younger one.
    CHECK(buffer.lookup(0x100, 8, 0).match == Match::Wait);
    CHECK(buffer.lookup(0x100, 8, 0).drained.cycle == 30);
}

TEST_CASE("store buffer: a wider load waits until the narrow store under it has drained") {
    FlatMemory memory;
    StoreBuffer buffer(4, memory, 0);
    Cycle drained = buffer.push(0x200, 1, 5, 17, false).cycle;
    StoreBuffer::Lookup found = buffer.lookup(0x200, 4, 0);
    CHECK(found.match == Match::Wait);
    CHECK(found.drained.cycle == drained);
    buffer.forget_drained(drained);
    CHECK(buffer.lookup(0x200, 4, 0).match == Match::None);
}

TEST_CASE("store buffer: stores drain in order, misses one after another") {
    FlatMemory memory;
    StoreBuffer buffer(4, memory, 0);
    Cycle miss = buffer.push(0, 4, buffer.drain_start(0, false), 100, false).cycle;
    CHECK(miss == 100);
    Completion start = buffer.drain_start(2, true);
    Cycle hit = buffer.push(64, 4, start, start + 2, false).cycle;
    CHECK(hit == 100); // not before the miss
    CHECK(buffer.drain_start(3, false).cycle == 100);
    CHECK(buffer.drained_at(3) == 100);
    CHECK(buffer.drained_at(200) == 200);
}

TEST_CASE("store buffer: stores to owned lines drain one a cycle") {
    FlatMemory memory;
    StoreBuffer buffer(8, memory, 0);
    for (Cycle cycle = 0; cycle < 4; cycle++) {
        Completion start = buffer.drain_start(0, true);
        CHECK(buffer.push(8 * cycle, 8, start, start + 2, false).cycle == cycle + 2);
    }
}

TEST_CASE("store buffer: a full buffer has room when its oldest store has drained") {
    FlatMemory memory;
    StoreBuffer buffer(2, memory, 0);
    buffer.push(0, 4, 0, 10, false);
    CHECK(buffer.entry_free_at(1) == 1);
    buffer.push(8, 4, 10, 20, false);
    CHECK(buffer.entry_free_at(1) == 10);
    buffer.forget_drained(10);
    CHECK(buffer.entry_free_at(10) == 10);
}

TEST_CASE("store buffer: only release stores hold back an acquire") {
    FlatMemory memory;
    StoreBuffer buffer(4, memory, 0);
    buffer.push(0, 4, 0, 10, true);
    buffer.push(8, 4, 10, 30, false);
    CHECK(buffer.releases_drained_at(1) == 10);
    CHECK(buffer.drained_at(1) == 30);
}
