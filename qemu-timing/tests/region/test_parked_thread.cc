#include "region/parked_thread.h"

#include <doctest/doctest.h>

using namespace lockcross;

namespace {

constexpr LineId kPermit = 7, kOther = 8;

Options states() {
    Options options;
    options.charge_falls_asleep = 1000;
    options.charge_sleeps_long = 50'000;
    return options;
}

// Began to park in that cycle, and looks at its permit.
ParkedThread parked_since(Cycle cycle) {
    ParkedThread thread;
    thread.park(cycle);
    thread.look(kOther, cycle + 700);
    thread.look(kPermit, cycle + 710);
    return thread;
}

} // namespace

TEST_CASE("parked: how a thread sleeps follows from how long ago it began to park") {
    Options options = states();
    CHECK(parked_since(500).unpark(options, 400) == Sleep::NotYet);
    CHECK(parked_since(500).unpark(options, 1499) == Sleep::NotYet);
    CHECK(parked_since(500).unpark(options, 1500) == Sleep::Sleeps);
    CHECK(parked_since(500).unpark(options, 50'499) == Sleep::Sleeps);
    CHECK(parked_since(500).unpark(options, 50'500) == Sleep::ForLong);
}

TEST_CASE("parked: it may sleep before it looks, and its permit is known from its last park") {
    Options options = states();
    options.charge_falls_asleep = 300;
    ParkedThread thread;
    thread.park(500);
    CHECK_FALSE(thread.waits_for(kPermit)); // nobody knows yet
    thread.look(kPermit, 1200);
    thread.wake(options, 1200);
    thread.park(2000);
    CHECK_FALSE(thread.waits_for(kOther));
    CHECK(thread.waits_for(kPermit));
    CHECK(thread.unpark(options, 2300) == Sleep::Sleeps);
    thread.look(kPermit, 2700);
    CHECK(thread.wake(options, 2700) == Sleep::Sleeps);
}

TEST_CASE("parked: without other states a thread sleeps at once, and never for long") {
    Options flat;
    CHECK(parked_since(500).unpark(flat, 500) == Sleep::Sleeps);
    CHECK(parked_since(500).unpark(flat, 5'000'000) == Sleep::Sleeps);
}

TEST_CASE("parked: a permit is given to who looks at its line, once") {
    ParkedThread thread = parked_since(0);
    CHECK_FALSE(thread.waits_for(kOther));
    CHECK(thread.waits_for(kPermit));
    thread.unpark(states(), 2000);
    CHECK_FALSE(thread.waits_for(kPermit));
    CHECK_FALSE(ParkedThread().waits_for(kNoLine));
}

TEST_CASE("parked: it is woken as it slept when it got the permit, not when it saw that") {
    Options options = states();
    ParkedThread thread = parked_since(0);
    thread.unpark(options, 10);
    CHECK(thread.wake(options, 20'000) == Sleep::NotYet);
    CHECK_FALSE(thread.is_parked());
}

TEST_CASE("parked: who had its permit before never slept, who waited otherwise slept so long") {
    Options options = states();
    ParkedThread thread;
    thread.park(0);
    CHECK(thread.wake(options, 70'000) == Sleep::NotYet);
    thread.park(80'000);
    thread.look(kPermit, 90'000);
    CHECK(thread.wake(options, 90'000) == Sleep::NotYet);
    CHECK(parked_since(0).wake(options, 70'000) == Sleep::ForLong);
}
