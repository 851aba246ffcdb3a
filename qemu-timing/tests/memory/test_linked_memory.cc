#include "base/counts.h"
#include "base/options.h"
#include "link/link.h"
#include "link/memory_simulator.h"
#include "memory/completion.h"
#include "memory/linked_memory.h"
#include "memory/memory.h"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <memory>
#include <vector>

using namespace lockcross;

namespace {

constexpr Cycle kL1 = 1, kLatency = 50; // of the scripted simulator; every answer takes both

// Answers every read and write after the same time, the first one first.
class Script final : public MemorySimulator {
  public:
    std::vector<LinkAnswer> exchange(std::vector<LinkRequest> &requests, Cycle until) override {
        for (const LinkRequest &request : requests) {
            CHECK(request.cycle >= now_);
            (request.kind == RequestKind::Touch ? touched : sent).push_back(request);
            if (request.kind != RequestKind::Touch)
                open_.push_back({request.id, request.cycle + kL1 + kLatency});
        }
        requests.clear();
        auto first = std::min_element(open_.begin(), open_.end(), [](auto &one, auto &other) {
            return one.cycle < other.cycle;
        });
        if (first == open_.end() || first->cycle > until) {
            REQUIRE(until != kNoLimit);
            now_ = std::max(now_, until);
            return {};
        }
        LinkAnswer answer = *first;
        open_.erase(first);
        now_ = answer.cycle;
        return {answer};
    }
    Cycle now() const override { return now_; }
    Cycle lat_l1() const override { return kL1; }
    void finish() override {}

    std::vector<LinkRequest> sent, touched;

  private:
    std::vector<LinkAnswer> open_;
    Cycle now_ = 0;
};

// A core sleeps while memory's time passes, and no other one does anything meanwhile.
struct Bench final : Sleepers {
    Options options;
    std::vector<Counts> counts{2};
    Script *script = new Script; // memory's
    LinkedMemory memory{options, 64, counts, std::unique_ptr<Script>(script), *this};
    bool asleep = false;

    void sleep_until_answered(uint32_t) override {
        asleep = true;
        while (asleep)
            memory.advance(std::numeric_limits<Cycle>::max());
    }
    void go_on_at(uint32_t, Cycle) override { asleep = false; }
};

} // namespace

TEST_CASE("linked memory: a miss takes the simulator's time, a hit none of its turns") {
    Bench bench;
    AccessDelay miss = bench.memory.read(0, 3, 100);
    CHECK(miss.hold == 0);
    CHECK(miss.latency == kLatency);
    CHECK(miss.cause == Stall::Memory);
    CHECK(bench.memory.has_copy(0, 3));
    CHECK_FALSE(bench.memory.is_exclusive(0, 3));
    uint64_t turns = bench.memory.use()->turns;
    CHECK(bench.memory.read(0, 3, 200).total() == 0);
    CHECK(bench.memory.read(0, 3, 201).total() == 0);
    CHECK(bench.memory.use()->turns == turns);
    CHECK(bench.memory.use()->touches == 1); // once since the last miss
    bench.memory.read(0, 4, 300);
    CHECK(bench.script->touched.size() == 1);
    CHECK(bench.memory.use()->requests == 2);
}

TEST_CASE("linked memory: the first write of a line is a request, the next ones hit") {
    Bench bench;
    bench.memory.read(0, 3, 0);
    CHECK(bench.memory.get_exclusive(0, 3, 100, CoherenceEvent::Atomic).latency == kLatency);
    CHECK(bench.script->sent.back().kind == RequestKind::Write);
    CHECK(bench.memory.is_exclusive(0, 3));
    CHECK(bench.memory.get_exclusive(0, 3, 200, CoherenceEvent::Atomic).total() == 0);
    // Another core's read takes the right to write away.
    CHECK(bench.memory.read(1, 3, 300).cause == Stall::Transfer);
    CHECK_FALSE(bench.memory.is_exclusive(0, 3));
    CHECK(bench.memory.get_exclusive(0, 3, 400, CoherenceEvent::Store).cause == Stall::Upgrade);
    CHECK_FALSE(bench.memory.has_copy(1, 3));
}

TEST_CASE("linked memory: a store drains while its core goes on") {
    Bench bench;
    Completion drained = bench.memory.drain(0, 3, 100);
    CHECK_FALSE(drained.known());
    CHECK_FALSE(bench.memory.is_done(drained, 120));
    CHECK(bench.memory.when(0, drained) == 100 + kLatency);
    CHECK(bench.memory.is_done(drained, 150));
    CHECK(bench.memory.when(0, drained + 7) == 157);
}

TEST_CASE("linked memory: a store that waits for another one is sent when that is done") {
    Bench bench;
    Completion first = bench.memory.drain(0, 3, 100);
    Completion second = bench.memory.drain(0, 4, later(101, first + kL1));
    CHECK(bench.memory.when(0, second) == 100 + 2 * kLatency + kL1);
    CHECK(bench.script->sent[1].cycle == 100 + kLatency + kL1);
}

TEST_CASE("linked memory: an access waits for a conflicting one in flight") {
    Bench bench;
    Completion drained = bench.memory.drain(0, 3, 100);
    bench.memory.write_in_flight_until(0, 3, drained + 10);
    AccessDelay read = bench.memory.read(1, 3, 110);
    CHECK(read.hold == kLatency + 10 - 10);
    CHECK(read.latency == kLatency);
    CHECK(bench.counts[1].holds == 1);
    CHECK(bench.memory.use()->late == 0);
}

TEST_CASE("linked memory: a request in the simulator's past is late, and counts from there") {
    Bench bench;
    bench.memory.read(0, 3, 100);
    CHECK(bench.memory.read(0, 4, 110).latency == kLatency);
    CHECK(bench.memory.use()->late == 41); // the clock was at 151
    CHECK(bench.memory.read(0, 5, 161).latency == kLatency);
    CHECK(bench.memory.use()->late == 41); // it stays ahead by as much
}

TEST_CASE("linked memory: a reservation is lost to a writer") {
    Bench bench;
    bench.memory.reserve(0, 3);
    bench.memory.read(0, 3, 0);
    CHECK(bench.memory.is_reserved(0));
    bench.memory.get_exclusive(1, 3, 100, CoherenceEvent::Atomic);
    CHECK_FALSE(bench.memory.is_reserved(0));
}
