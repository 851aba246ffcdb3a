// The store buffer of one core: stores drain in program order.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstdint>
#include <deque>

namespace lockcross {

class StoreBuffer {
  public:
    explicit StoreBuffer(uint32_t depth) : depth_(depth) {}

    // Forgets the stores that have drained by now.
    void forget_drained(Cycle now) {
        while (!stores_.empty() && stores_.front().drained <= now)
            stores_.pop_front();
    }

    // When a new store can enter, seen at now: now, or later if the buffer is full.
    Cycle entry_free_at(Cycle now) const {
        if (stores_.size() < depth_)
            return now;
        return std::max(now, stores_[stores_.size() - depth_].drained);
    }

    // When a new store accesses the cache. One whose line the core owns begins a cycle after the
    // store before it; one that misses waits until it is the oldest.
    Cycle drain_start(Cycle now, bool owned) const {
        return std::max(now, owned ? next_start_ : last_drained_);
    }

    // Adds a store; start: see drain_start. Stores drain in order: returns when this one has.
    Cycle push(uint64_t address, uint32_t size, Cycle start, Cycle latency, bool release) {
        next_start_ = start + 1;
        last_drained_ = std::max(last_drained_, start + latency);
        stores_.push_back({address, size, last_drained_, release});
        return last_drained_;
    }

    // When all stores have drained, seen at now.
    Cycle drained_at(Cycle now) const {
        return stores_.empty() ? now : std::max(now, stores_.back().drained);
    }

    // When all release stores have drained, seen at now.
    Cycle releases_drained_at(Cycle now) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->release)
                return std::max(now, store->drained);
        }
        return now;
    }

    enum class Match { None, Forward, Wait };
    struct Lookup {
        Match match;
        Cycle drained; // when the store that matches has drained
    };

    // What a load finds. The youngest store that overlaps it forwards its value if it covers the
    // load; otherwise the load waits until that store has drained.
    Lookup lookup(uint64_t address, uint32_t size) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->address >= address + size || address >= store->address + store->size)
                continue;
            bool covers =
                store->address <= address && address + size <= store->address + store->size;
            return {covers ? Match::Forward : Match::Wait, store->drained};
        }
        return {Match::None, 0};
    }

    bool empty() const { return stores_.empty(); }

  private:
    struct Store {
        uint64_t address;
        uint32_t size;
        Cycle drained; // when the cache holds the value and every core can see it
        bool release;  // a later acquire load must not pass it
    };

    uint32_t depth_;
    std::deque<Store> stores_;
    Cycle next_start_ = 0, last_drained_ = 0;
};

} // namespace lockcross
