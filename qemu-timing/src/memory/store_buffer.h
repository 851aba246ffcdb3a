// The store buffer of one core: stores drain in program order.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstdint>
#include <deque>

namespace lockcross {

struct BufferedStore {
    uint64_t address;
    uint32_t size; // bytes
    Cycle done;    // when the line holds the value and every core can see it
    bool release;  // a later acquire load must not pass it
};

class StoreBuffer {
  public:
    explicit StoreBuffer(uint32_t depth) : depth_(depth) {}

    // Drops the stores that are done at now.
    void retire(Cycle now) {
        while (!stores_.empty() && stores_.front().done <= now)
            stores_.pop_front();
    }

    // When a new store can enter, seen at now: now, or later if the buffer is full.
    Cycle room_at(Cycle now) const {
        if (stores_.size() < depth_)
            return now;
        return std::max(now, stores_[stores_.size() - depth_].done);
    }

    // A store whose line is owned commits a cycle after the one before it; one that misses waits
    // until it is the oldest. Returns when its access of the cache begins.
    Cycle start_of(Cycle now, bool owned) const {
        return std::max(now, owned ? next_start_ : last_done_);
    }

    // Stores complete in order: returns when this one is done.
    Cycle push(uint64_t address, uint32_t size, Cycle start, Cycle latency, bool release) {
        next_start_ = start + 1;
        last_done_ = std::max(last_done_, start + latency);
        stores_.push_back({address, size, last_done_, release});
        return last_done_;
    }

    // When all stores are done, seen at now.
    Cycle empty_at(Cycle now) const {
        return stores_.empty() ? now : std::max(now, stores_.back().done);
    }

    // When all release stores are done, seen at now.
    Cycle released_at(Cycle now) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->release)
                return std::max(now, store->done);
        }
        return now;
    }

    enum class Match { None, Forward, Wait };
    struct Lookup {
        Match match;
        Cycle until; // Wait: when the store has drained
    };

    // What a load finds: the youngest store that overlaps it forwards when it covers the load,
    // else the load waits for its drain.
    Lookup lookup(uint64_t address, uint32_t size) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->address >= address + size || address >= store->address + store->size)
                continue;
            bool covers =
                store->address <= address && address + size <= store->address + store->size;
            return {covers ? Match::Forward : Match::Wait, store->done};
        }
        return {Match::None, 0};
    }

    bool empty() const { return stores_.empty(); }

  private:
    uint32_t depth_;
    std::deque<BufferedStore> stores_;
    Cycle next_start_ = 0, last_done_ = 0;
};

} // namespace lockcross
