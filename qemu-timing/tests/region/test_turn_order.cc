#include "region/turn_order.h"

#include <cstdint>
#include <doctest/doctest.h>
#include <limits>

using namespace lockcross;

TEST_CASE("turn order: the smallest cycle goes first, ties by core number") {
    TurnOrder order(3);
    CHECK_FALSE(order.first());
    order.wait_at(0, 5);
    order.wait_at(1, 3);
    order.wait_at(2, 3);
    CHECK(order.first() == 1);
    order.leave(1);
    CHECK(order.first() == 2);
    order.leave(2);
    order.leave(0);
    CHECK_FALSE(order.first());
}

TEST_CASE("turn order: the limit keeps (cycle, core) in order") {
    TurnOrder order(3);
    order.wait_at(0, 10);
    order.wait_at(1, 12);
    order.wait_at(2, 20);
    CHECK(order.limit(0) == 12); // may go at 12 too: a tie is core 0's
    CHECK(order.limit(1) == 9);  // at 10 core 0 comes first
    CHECK(order.limit(2) == 9);
    order.wait_at(0, 0);
    CHECK(order.limit(1) == -1); // not even at cycle 0
    order.leave(0);
    order.leave(2);
    CHECK(order.limit(1) == std::numeric_limits<int64_t>::max());
}

TEST_CASE("turn order: a core that waits for memory has no turn") {
    TurnOrder order(2);
    order.wait_at(0, 5);
    order.wait_at(1, 7);
    order.wait_for_memory(0);
    CHECK(order.any_waiting());
    CHECK(order.first() == 1);
    order.leave(1);
    CHECK_FALSE(order.first());
    CHECK_FALSE(order.all_left());
    order.go_on_at(0, 9);
    CHECK(order.first() == 0);
    order.leave(0);
    CHECK(order.all_left());
}
