#include "memory/line_id.h"
#include "memory/tags.h"

#include <algorithm>
#include <cstddef>
#include <doctest/doctest.h>
#include <list>
#include <random>

using namespace lockcross;

TEST_CASE("tags: the least recently used line of the set leaves") {
    Tags tags(4 * 64, 2, 64); // two sets of two ways: even lines share a set
    CHECK(tags.touch(0) == kNoLine);
    CHECK(tags.touch(2) == kNoLine);
    CHECK(tags.touch(0) == kNoLine);
    CHECK(tags.touch(4) == 2);
    CHECK(tags.touch(1) == kNoLine); // the other set
    CHECK(tags.touch(2) == 0);       // 2 was gone, and 0 the least recently used
}

TEST_CASE("tags: a removed line frees its way") {
    Tags tags(2 * 64, 2, 64);
    tags.touch(0);
    tags.touch(1);
    tags.remove(0);
    CHECK(tags.touch(2) == kNoLine);
    CHECK(tags.touch(1) == kNoLine); // still there
}

TEST_CASE("tags: a random sequence agrees with a list in order of use") {
    constexpr size_t kWays = 4;
    Tags tags(kWays * 64, kWays, 64); // one set
    std::list<LineId> model;          // most recently used first
    std::mt19937 random(1);
    for (int i = 0; i < 20000; i++) {
        LineId line = random() % 9;
        if (random() % 8 == 0) {
            tags.remove(line);
            model.remove(line);
            continue;
        }
        bool present = std::find(model.begin(), model.end(), line) != model.end();
        LineId expected = kNoLine;
        model.remove(line);
        model.push_front(line);
        if (!present && model.size() > kWays) {
            expected = model.back();
            model.pop_back();
        }
        REQUIRE(tags.touch(line) == expected);
    }
}
