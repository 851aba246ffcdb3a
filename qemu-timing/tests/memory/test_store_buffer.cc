#include "memory/store_buffer.h"

#include <doctest/doctest.h>

using namespace lockcross;
using Match = StoreBuffer::Match;

TEST_CASE("store buffer: a load finds the youngest store that overlaps it") {
    StoreBuffer buffer(4);
    buffer.push(0x100, 8, 0, 10, false);
    buffer.push(0x104, 4, 10, 20, false);
    CHECK(buffer.lookup(0x104, 4).match == Match::Forward);
    CHECK(buffer.lookup(0x100, 4).match == Match::Forward);
    CHECK(buffer.lookup(0x108, 4).match == Match::None);
    // The wider load needs bytes of two stores: it waits for the younger one.
    CHECK(buffer.lookup(0x100, 8).match == Match::Wait);
    CHECK(buffer.lookup(0x100, 8).until == 30);
}

TEST_CASE("store buffer: a narrow store under a wider load is the collocation wait") {
    StoreBuffer buffer(4);
    Cycle done = buffer.push(0x200, 1, 5, 12, false);
    StoreBuffer::Lookup found = buffer.lookup(0x200, 4);
    CHECK(found.match == Match::Wait);
    CHECK(found.until == done);
    buffer.retire(done);
    CHECK(buffer.lookup(0x200, 4).match == Match::None);
}

TEST_CASE("store buffer: stores are done in order, misses one after another") {
    StoreBuffer buffer(4);
    Cycle miss = buffer.push(0, 4, buffer.start_of(0, false), 100, false);
    CHECK(miss == 100);
    Cycle hit = buffer.push(64, 4, buffer.start_of(2, true), 2, false);
    CHECK(hit == 100); // not before the miss
    CHECK(buffer.start_of(3, false) == 100);
    CHECK(buffer.empty_at(3) == 100);
    CHECK(buffer.empty_at(200) == 200);
}

TEST_CASE("store buffer: owned lines commit one a cycle") {
    StoreBuffer buffer(8);
    for (Cycle cycle = 0; cycle < 4; cycle++) {
        CHECK(buffer.push(8 * cycle, 8, buffer.start_of(0, true), 2, false) == cycle + 2);
    }
}

TEST_CASE("store buffer: a full buffer has room when its oldest store is done") {
    StoreBuffer buffer(2);
    buffer.push(0, 4, 0, 10, false);
    CHECK(buffer.room_at(1) == 1);
    buffer.push(8, 4, 10, 10, false);
    CHECK(buffer.room_at(1) == 10);
    buffer.retire(10);
    CHECK(buffer.room_at(10) == 10);
}

TEST_CASE("store buffer: only release stores hold back an acquire") {
    StoreBuffer buffer(4);
    buffer.push(0, 4, 0, 10, true);
    buffer.push(8, 4, 10, 20, false);
    CHECK(buffer.released_at(1) == 10);
    CHECK(buffer.empty_at(1) == 30);
}
