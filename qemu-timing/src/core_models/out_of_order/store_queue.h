// The stores of one core that other cores do not see yet.
#pragma once

#include "base/counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace lockcross {

// How stores that have retired become visible to all: in any order, except that those to one line
// stay in order; in program order, where one after another to lines that the core owns may begin in
// cycles that follow; or each only after the one before it has drained.
enum class StoreOrder : uint32_t { Any, InOrder, OneByOne };

class StoreQueue {
  public:
    StoreQueue(size_t entries, StoreOrder order) : order_(order), drained_(entries) {}

    struct Store {
        uint64_t address;
        uint32_t size;
        Cycle data;    // when its value is there
        Cycle drained; // when the cache holds it
        bool release;  // it drains after all before it; a later acquire load must not pass it

        bool overlaps(uint64_t other, uint32_t bytes) const {
            return address < other + bytes && other < address + size;
        }
        bool covers(uint64_t other, uint32_t bytes) const {
            return address <= other && other + bytes <= address + size;
        }
    };

    // When the next store has an entry.
    Cycle free_at() const { return drained_[number_ % drained_.size()]; }

    // When the next store, which retires at `retired`, accesses the cache. owned: its line belongs
    // to the core already.
    Cycle drain_start(Cycle retired, bool owned, bool release) const {
        Cycle earliest = std::max(retired + 1, ordered_);
        if (release || order_ == StoreOrder::OneByOne)
            return std::max(earliest, last_drained_);
        if (order_ == StoreOrder::InOrder)
            return std::max(earliest, owned ? last_start_ + 1 : last_drained_);
        return earliest;
    }

    // Adds a store that accesses the cache at `start` and takes so long. older: one to its line
    // that has not drained, or null. Returns when it has drained.
    Cycle push(Store store, Cycle start, Cycle latency, const Store *older) {
        store.drained = start + latency;
        if (order_ == StoreOrder::InOrder)
            store.drained = std::max(store.drained, last_drained_);
        else if (older)
            store.drained = std::max(store.drained, older->drained);
        last_start_ = start;
        last_drained_ = std::max(last_drained_, store.drained);
        drained_[number_++ % drained_.size()] = store.drained;
        stores_.push_back(store);
        if (stores_.size() > drained_.size())
            stores_.pop_front();
        return store.drained;
    }

    // No store after this one begins to drain before then.
    void order_after(Cycle cycle) { ordered_ = std::max(ordered_, cycle); }

    // The youngest store that overlaps and has not drained at `now`; null if there is none.
    const Store *find(uint64_t address, uint32_t size, Cycle now) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->drained > now && store->overlaps(address, size))
                return &*store;
            if (store->drained <= now && order_ != StoreOrder::Any)
                return nullptr; // all older ones have drained, too
        }
        return nullptr;
    }

    // The youngest store to one of the aligned blocks of so many bytes (a power of two) that the
    // access touches which has not executed at `now`; null if there is none.
    const Store *unexecuted(uint64_t address, uint32_t size, uint32_t block, Cycle now) const {
        uint64_t first = address & ~uint64_t(block - 1);
        uint32_t bytes = uint32_t(((address + size - 1) | (block - 1)) + 1 - first);
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->data > now && store->overlaps(first, bytes))
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
    StoreOrder order_;
    std::deque<Store> stores_;   // the last ones, drained or not
    std::vector<Cycle> drained_; // of each entry: when its last store had drained
    uint64_t number_ = 0;
    Cycle last_start_ = 0, last_drained_ = 0, ordered_ = 0;
};

} // namespace lockcross
