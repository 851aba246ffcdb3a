#include "memory/layout.h"

#include <doctest/doctest.h>

using namespace prove;

namespace {

Operation access(Kind kind, uint64_t address, unsigned size) {
    Operation op;
    op.kind = kind;
    op.address = address;
    op.size = static_cast<uint8_t>(size);
    return op;
}

} // namespace

TEST_CASE("a unit is a run of bytes that no access divides") {
    Layout layout;
    CHECK(layout.note(access(Kind::kStore, 0x1000, 4), 0));
    layout.settle();
    REQUIRE(layout.units().size() == 1);
    CHECK(layout.units()[0].size == 4);

    CHECK(layout.note(access(Kind::kStore, 0x1001, 1), 0));
    layout.settle();
    REQUIRE(layout.units().size() == 3);
    CHECK(layout.units()[1].offset == 1);
    CHECK(layout.units()[1].size == 1);
    CHECK(layout.units()[2].size == 2);
    Extent whole = layout.locate(access(Kind::kLoad, 0x1000, 4));
    CHECK(whole.first_unit == 0);
    CHECK(whole.units == 3);
    CHECK(layout.locate(access(Kind::kLoad, 0x1002, 2)).first_unit == 2);
}

TEST_CASE("an atomic access joins the units that it covers, a plain one does not") {
    Layout layout;
    layout.note(access(Kind::kStore, 0x1000, 1), 0);
    layout.note(access(Kind::kPlainStore, 0x1000, 2), 0);
    layout.settle();
    REQUIRE(layout.units().size() == 2);
    CHECK_FALSE(layout.units()[1].joined);
    CHECK(layout.note(access(Kind::kLoad, 0x1000, 2), 0));
    layout.settle();
    CHECK(layout.units()[1].joined);
}

TEST_CASE("what one thread uses, or nobody writes, is not shared") {
    Layout layout;
    layout.note(access(Kind::kStore, 0x1000, 4), 0);
    layout.note(access(Kind::kLoad, 0x1008, 4), 0);
    layout.note(access(Kind::kLoad, 0x1008, 4), 1);
    layout.settle();
    CHECK_FALSE(layout.units()[0].shared);
    CHECK_FALSE(layout.units()[1].shared);

    CHECK(layout.note(access(Kind::kPlainLoad, 0x1000, 4), 1));
    layout.settle();
    CHECK(layout.units()[0].shared);
    CHECK(layout.units()[0].guarded == 0);
    CHECK(layout.locate(access(Kind::kLoad, 0x1000, 4)).guarded);
    CHECK_FALSE(layout.note(access(Kind::kPlainLoad, 0x1000, 4), 1));
}

TEST_CASE("words are ordered by address") {
    Layout layout;
    layout.note(access(Kind::kStore, 0x2000, 8), 0);
    layout.note(access(Kind::kStore, 0x1000, 8), 0);
    layout.settle();
    CHECK(layout.words() == 2);
    CHECK(layout.word_address(0) == 0x1000);
    CHECK(layout.locate(access(Kind::kLoad, 0x2004, 4)).word == 1);
}
