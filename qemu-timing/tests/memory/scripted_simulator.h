// A simulator of memory that answers from a script, and memory that is linked to it.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "link/link.h"
#include "link/memory_simulator.h"
#include "memory/linked_memory.h"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <memory>
#include <vector>

namespace lockcross {

constexpr Cycle kL1 = 1, kLatency = 50; // of the scripted simulator; an answer takes both

// Answers every read and write after the same time, the first one first.
class Script final : public MemorySimulator {
  public:
    std::vector<LinkAnswer> exchange(std::vector<LinkRequest> &requests, Cycle until) override {
        for (const LinkRequest &request : requests) {
            CHECK(request.cycle >= now_);
            (request.id == 0 ? touched : sent).push_back(request);
            if (request.id != 0)
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
    Cycle lat_miss() const override { return kL1 + kLatency; }
    void finish() override {}

    std::vector<LinkRequest> sent, touched;

  private:
    std::vector<LinkAnswer> open_;
    Cycle now_ = 0;
};

// A core sleeps while memory's time passes, and no other one does anything meanwhile.
struct LinkedBench final : Sleepers {
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

} // namespace lockcross
