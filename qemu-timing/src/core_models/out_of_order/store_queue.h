// The stores of one core that other cores do not see yet: they drain in program order.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace lockcross {

class StoreQueue {
  public:
    explicit StoreQueue(size_t entries) : drained_(entries) {}

    struct Store {
        uint64_t address;
        uint32_t size;
        Cycle data;    // when its value is there
        Cycle drained; // when the cache holds it
        bool release;  // a later acquire load must not pass it

        bool overlaps(uint64_t other, uint32_t bytes) const {
            return address < other + bytes && other < address + size;
        }
        bool covers(uint64_t other, uint32_t bytes) const {
            return address <= other && other + bytes <= address + size;
        }
    };

    // When the next store has an entry.
    Cycle free_at() const { return drained_[number_ % drained_.size()]; }

    // When the next store, which retires at `retired`, accesses the cache: a cycle after the store
    // before it if the core owns its line, else once that has drained.
    Cycle drain_start(Cycle retired, bool owned) const {
        return std::max({retired + 1, owned ? last_start_ + 1 : last_drained_, ordered_});
    }

    // Adds a store that accesses the cache at `start` and takes so long. Returns when it has
    // drained.
    Cycle push(Store store, Cycle start, Cycle latency) {
        last_start_ = start;
        last_drained_ = std::max(last_drained_, start + latency);
        store.drained = last_drained_;
        drained_[number_++ % drained_.size()] = last_drained_;
        stores_.push_back(store);
        if (stores_.size() > drained_.size())
            stores_.pop_front();
        return last_drained_;
    }

    // No store after this one begins to drain before then.
    void order_after(Cycle cycle) { ordered_ = std::max(ordered_, cycle); }

    // The youngest store that overlaps and has not drained at `now`; null if there is none.
    const Store *find(uint64_t address, uint32_t size, Cycle now) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->drained <= now)
                return nullptr; // they drain in order
            if (store->overlaps(address, size))
                return &*store;
        }
        return nullptr;
    }

    Cycle drained_at(Cycle now) const { return std::max(now, last_drained_); }

    Cycle releases_drained_at(Cycle now) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->release)
                return std::max(now, store->drained);
        }
        return now;
    }

  private:
    std::deque<Store> stores_;   // the last ones, drained or not
    std::vector<Cycle> drained_; // of each entry: when its last store had drained
    uint64_t number_ = 0;
    Cycle last_start_ = 0, last_drained_ = 0, ordered_ = 0;
};

} // namespace lockcross
