#include "base/ring.h"

#include <doctest/doctest.h>

using namespace lockcross;

TEST_CASE("ring: the entry used longest ago comes next, around the end too") {
    Ring<int> ring(3);
    for (int number = 1; number <= 5; number++)
        ring.take() = number;
    CHECK(ring.oldest() == 3);
    CHECK(ring.oldest(1) == 4);
    CHECK(ring.oldest(2) == 5);
    CHECK(ring.size() == 3);
    CHECK_FALSE(ring.empty());
    CHECK(Ring<int>(0).empty());
}
