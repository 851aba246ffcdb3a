#include "search/states.h"

#include <doctest/doctest.h>

using namespace prove;

TEST_CASE("a state that was seen keeps its number, however many follow") {
    States states;
    for (uint64_t i = 0; i < 20'000; i++) {
        auto [id, is_new] = states.add(hash_words(&i, 1), i ? static_cast<StateId>(i - 1) : 0, {});
        CHECK(is_new);
        CHECK(id == i);
    }
    for (uint64_t i = 0; i < 20'000; i += 97) {
        auto [id, is_new] = states.add(hash_words(&i, 1), 0, {});
        CHECK_FALSE(is_new);
        CHECK(id == i);
    }
    CHECK(states.size() == 20'000);
}

TEST_CASE("the path to a state is the choices from the first one") {
    States states;
    uint64_t names[] = {10, 11, 12};
    states.add(hash_words(&names[0], 1), 0, {});
    states.add(hash_words(&names[1], 1), 0, {1, false, 0});
    states.add(hash_words(&names[2], 1), 1, {2, true, 3});
    std::vector<Choice> path = states.path(2);
    REQUIRE(path.size() == 2);
    CHECK(path[0].thread == 1);
    CHECK(path[1].thread == 2);
    CHECK(path[1].drain);
    CHECK(path[1].option == 3);
    CHECK(states.path(0).empty());
}

TEST_CASE("hashes tell length, order and each bit") {
    uint64_t words[] = {1, 2, 0};
    uint64_t turned[] = {2, 1, 0};
    CHECK_FALSE(hash_words(words, 2) == hash_words(words, 3));
    CHECK_FALSE(hash_words(words, 2) == hash_words(turned, 2));
    Hash plain = hash_words(words, 3);
    for (unsigned bit = 0; bit < 64; bit++) {
        words[2] = uint64_t{1} << bit;
        Hash changed = hash_words(words, 3);
        CHECK(changed.low != plain.low);
        CHECK(changed.high != plain.high);
    }
}

TEST_CASE("updates leave what C says") {
    Operation op;
    op.kind = Kind::kRmw;
    op.size = 1;
    op.value = 0xff;
    op.update = Update::kAdd;
    CHECK(updated(op, 2) == 1);
    op.update = Update::kNand;
    CHECK(updated(op, 0x0f) == 0xf0);
    op.kind = Kind::kCas;
    op.expected = 3;
    CHECK(updated(op, 3) == 0xff);
    CHECK(updated(op, 4) == 4);
}
