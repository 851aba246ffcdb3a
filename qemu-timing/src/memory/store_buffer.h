// The store buffer of one core: stores drain in program order.
#pragma once

#include "base/counts.h"
#include "memory/completion.h"
#include "memory/memory.h"

#include <algorithm>
#include <cstdint>
#include <deque>

namespace lockcross {

class StoreBuffer {
  public:
    // memory: says when a store has drained; core: whose buffer it is.
    StoreBuffer(uint32_t depth, Memory &memory, uint32_t core)
        : depth_(depth), memory_(memory), core_(core) {}

    // Forgets the stores that have drained by now, as far as that is known.
    void forget_drained(Cycle now) {
        while (!stores_.empty() && stores_.front().drained.known() &&
               stores_.front().drained.cycle <= now)
            stores_.pop_front();
    }

    // When a new store can enter, seen at now: now, or later if the buffer is full.
    Cycle entry_free_at(Cycle now) {
        if (stores_.size() < depth_)
            return now;
        return std::max(now, drained(stores_[stores_.size() - depth_]));
    }

    // When a new store accesses the cache. One whose line the core owns begins a cycle after the
    // store before it; one that misses waits until it is the oldest.
    Completion drain_start(Cycle now, bool owned) {
        return memory_.later(now, owned ? next_start_ : last_drained_);
    }

    // Adds a store that begins to drain at `start` and has its value in the cache at `written`; see
    // drain_start. Stores drain in order: returns when this one has.
    Completion push(uint64_t address, uint32_t size, Completion start, Completion written,
                    bool release) {
        next_start_ = start + 1;
        last_drained_ = memory_.later(last_drained_, written);
        stores_.push_back({address, size, last_drained_, release});
        return last_drained_;
    }

    // When all stores have drained.
    Completion drained() const { return stores_.empty() ? Completion() : stores_.back().drained; }
    // The same, seen at now.
    Cycle drained_at(Cycle now) {
        return stores_.empty() ? now : std::max(now, drained(stores_.back()));
    }

    // When all release stores have drained, seen at now.
    Cycle releases_drained_at(Cycle now) {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->release)
                return std::max(now, drained(*store));
        }
        return now;
    }

    enum class Match { None, Forward, Wait };
    struct Lookup {
        Match match;
        Completion drained; // when the store that matches has drained
    };

    // What a load finds, seen at now. The youngest store that overlaps it forwards its value if it
    // covers the load; otherwise the load waits until that store has drained.
    Lookup lookup(uint64_t address, uint32_t size, Cycle now) {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->address >= address + size || address >= store->address + store->size)
                continue;
            if (memory_.is_done(store->drained, now))
                return {Match::None, {}};
            bool covers =
                store->address <= address && address + size <= store->address + store->size;
            return {covers ? Match::Forward : Match::Wait, store->drained};
        }
        return {Match::None, {}};
    }

    bool empty() const { return stores_.empty(); }

  private:
    struct Store {
        uint64_t address;
        uint32_t size;
        Completion drained; // when the cache holds the value and every core can see it
        bool release;       // a later acquire load must not pass it
    };

    Cycle drained(Store &store) {
        store.drained = memory_.when(core_, store.drained);
        return store.drained.cycle;
    }

    uint32_t depth_;
    Memory &memory_;
    uint32_t core_;
    std::deque<Store> stores_;
    Completion next_start_, last_drained_;
};

} // namespace lockcross
