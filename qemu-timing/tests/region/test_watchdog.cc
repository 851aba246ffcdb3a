#include "region/watchdog.h"

#include <atomic>
#include <doctest/doctest.h>
#include <semaphore>
#include <thread>

using namespace lockcross;

TEST_CASE("a thread that runs is seen, and one that sleeps") {
    std::atomic<bool> over{false};
    std::binary_semaphore go_on{0};
    std::thread sleeper([&] { go_on.acquire(); });
    std::thread worker([&] {
        while (!over) {
        }
    });
    CHECK_FALSE(all_others_sleep());
    over = true;
    worker.join();
    while (!all_others_sleep()) // until the other one has gone to sleep
        std::this_thread::yield();
    go_on.release();
    sleeper.join();
}

TEST_CASE("a watchdog that is stopped says nothing") {
    bool said = false;
    Watchdog watchdog([&] { said = true; });
    watchdog.stop();
    CHECK_FALSE(said);
}
