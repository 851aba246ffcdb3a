#include "region/host_threads.h"

#include "region/one_thread.h"
#include "region/own_threads.h"

#include <cerrno>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <numeric>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace lockcross;

namespace {

thread_local uint32_t mine; // what the C library keeps for each thread lies beside it

// What the threads of a region saw, each written by one at a time.
struct Seen {
    std::vector<uint32_t> turns; // whose turn it was, in order
    std::vector<uint32_t> wrong; // cores that found another thread's memory, or registers
    std::vector<pid_t> inside, before, after; // of each core: the kernel's thread that it ran on
};

// Each core has so many turns, and hands over to the core after it, beginning with `first`.
Seen run(HostThreads &threads, uint32_t cores, uint32_t first, uint32_t turns) {
    Seen seen;
    seen.inside.resize(cores), seen.before.resize(cores), seen.after.resize(cores);
    uint32_t left = 0;
    auto work = [&](uint32_t core) {
        mine = core;
        errno = int(core);
        seen.before[core] = gettid();
        threads.enter(core, first);
        seen.inside[core] = gettid();
        // Kept in registers over the turns, as many as there are.
        volatile double seed = core;
        double values[8];
        std::iota(values, values + 8, seed);
        for (uint32_t turn = 0; turn < turns; turn++) {
            seen.turns.push_back(core);
            for (double &value : values)
                value += 1;
            if (turn + 1 < turns && cores > 1)
                threads.switch_to(core, (core + 1) % cores);
        }
        for (int i = 0; i < 8; i++) {
            if (values[i] != core + i + turns)
                seen.wrong.push_back(core);
        }
        if (mine != core || errno != int(core))
            seen.wrong.push_back(core);
        if (++left == cores)
            threads.leave_last(core);
        else
            threads.leave(core, (core + 1) % cores);
        seen.after[core] = gettid();
        if (mine != core)
            seen.wrong.push_back(core);
    };
    std::vector<std::thread> host;
    for (uint32_t core = 0; core < cores; core++)
        host.emplace_back(work, core);
    for (std::thread &thread : host)
        thread.join();
    return seen;
}

} // namespace

TEST_CASE("cores take turns, with memory, registers and errno of their own") {
    for (bool own : {false, true}) {
        for (uint32_t cores : {1u, 2u, 3u, 8u, 128u}) {
            for (uint32_t first : {0u, cores / 2, cores - 1}) {
                CAPTURE(own);
                CAPTURE(cores);
                CAPTURE(first);
                std::unique_ptr<HostThreads> threads = make_host_threads(cores, own);
                Seen seen = run(*threads, cores, first, 20);
                REQUIRE(seen.turns.size() == cores * 20);
                for (uint32_t turn = 0; turn < seen.turns.size(); turn++)
                    REQUIRE(seen.turns[turn] == (first + turn) % cores);
                CHECK(seen.wrong.empty());
                CHECK(seen.before == seen.after);
            }
        }
    }
}

TEST_CASE("one host thread runs all cores, unless each is to have its own") {
    Seen seen = run(*make_host_threads(4, true), 4, 2, 3);
    CHECK(seen.inside == seen.before);
    if (!OneThread::possible())
        return;
    seen = run(*make_host_threads(4, false), 4, 2, 3);
    CHECK(seen.inside == std::vector<pid_t>(4, seen.before[2]));
}
