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

// Has looked at its permit since that cycle.
ParkedThread parked_since(Cycle cycle) {
    ParkedThread thread;
    thread.park();
    thread.look(kOther, cycle);
    thread.look(kPermit, cycle + 10);
    return thread;
}

} // namespace

TEST_CASE("parked: how a thread sleeps follows from how long it has looked") {
    Options options = states();
    CHECK(parked_since(500).unpark(options, 1499) == Sleep::NotYet);
    CHECK(parked_since(500).unpark(options, 1500) == Sleep::Sleeps);
    CHECK(parked_since(500).unpark(options, 50'499) == Sleep::Sleeps);
    CHECK(parked_since(500).unpark(options, 50'500) == Sleep::ForLong);
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
    thread.park();
    CHECK(thread.wake(options, 70'000) == Sleep::NotYet);
    CHECK(parked_since(0).wake(options, 70'000) == Sleep::ForLong);
}
