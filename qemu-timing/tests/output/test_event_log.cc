#include "output/event_log.h"

#include <cstddef>
#include <doctest/doctest.h>
#include <string>

using namespace lockcross;

TEST_CASE("a log is a header and its events in the order of simulated time") {
    EventLog log;
    log.add_object(0x1000);
    log.add_object(0x1000); // made again: still one object
    log.add_object(0x2000);
    // Core 1 ran ahead; within a cycle the lower core is first, and a core's events keep their
    // order.
    CHECK(log.add({300, 1, 0x80, 1, 2, 0}));
    CHECK(log.add({200, 1, 0x80, 1, 3, 1}));
    CHECK(log.add({200, 0, 0x0403, 0x0201, 4, 5}));
    CHECK(log.add({200, 0, 0x80, 0, 6, 0}));
    std::string bytes = log.to_bytes(0x400000, 2400);
    REQUIRE(bytes.size() == 40 + 4 * 16);
    CHECK(bytes.substr(0, 8) == "LCEVENTS");
    CHECK(bytes.substr(8, 8) == std::string("\x01\0\0\0\x60\x09\0\0", 8));
    CHECK(bytes.substr(16, 8) == std::string("\0\0\x40\0\0\0\0\0", 8));
    CHECK(bytes.substr(24, 16) == std::string("\x02\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0", 16));
    CHECK(bytes.substr(40, 16) ==
          std::string("\xc8\0\0\0\0\0\0\0\x03\x04\0\0\x01\x02\x04\x05", 16));
    auto kind = [&](size_t record) { return bytes[40 + 16 * record + 14]; };
    CHECK(kind(1) == 6);
    CHECK(kind(2) == 3);
    CHECK(kind(3) == 2);
}
