// The stores of one core that other cores do not see yet.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "base/ring.h"
#include "memory/completion.h"
#include "memory/memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace lockcross {

// How stores that have retired become visible to all is `store_order`: in any order, except that
// those to one line stay in order; in program order, where one after another to lines that the core
// owns may begin in cycles that follow; or each only after the one before it has drained.
class StoreQueue {
  public:
    // memory: says when a store has drained; core: whose queue it is.
    // width: so many to lines that the core owns begin to drain in a cycle; line_width: so many at
    // least of those to one line.
    StoreQueue(size_t entries, store_order::Value order, uint32_t width, uint32_t line_width,
               Memory &memory, uint32_t core)
        : order_(order), width_(width), line_width_(std::max(width, line_width)), memory_(memory),
          core_(core), drained_(entries) {}

    struct Store {
        uint64_t address = 0;
        uint32_t size = 0;
        Cycle data = 0;          // when its value is there
        Completion drained = {}; // when the cache holds it
        bool release = false;    // it drains after all before it, and no later acquire load passes
        uint64_t address_form = 0; // Insn::address_form
        bool owned = false;        // its line belonged to the core when it retired
        bool known = true;         // the core knows what it writes

        bool overlaps(uint64_t other, uint32_t bytes) const {
            return address < other + bytes && other < address + size;
        }
        bool covers(uint64_t other, uint32_t bytes) const {
            return known && address <= other && other + bytes <= address + size;
        }
    };

    // When the next store has an entry.
    Cycle free_at() { return known(drained_.oldest()); }

    // When the next store, which retires at `retired`, accesses the cache. owned: its line belongs
    // to the core already.
    Completion drain_start(Cycle retired, LineId line, bool owned, bool release) {
        bool same_line = line == last_line_;
        last_line_ = line;
        Cycle earliest = std::max(retired + 1, ordered_);
        if (release || order_ == store_order::one_by_one)
            return memory_.later(earliest, last_drained_);
        if (order_ == store_order::in_order)
            return memory_.later(earliest, owned ? next_start(same_line) : last_drained_);
        return earliest;
    }

    // Adds a store that accesses the cache at `start` and has its value there at `written`. older:
    // one to its line that has not drained, or null. Returns when it has drained.
    Completion push(Store store, Completion start, Completion written, const Store *older) {
        store.drained = written;
        if (order_ == store_order::in_order)
            store.drained = memory_.later(store.drained, last_drained_);
        else if (older)
            store.drained = memory_.later(store.drained, older->drained);
        last_start_ = memory_.later(start, last_start_); // an atomic may begin early
        last_drained_ = memory_.later(last_drained_, store.drained);
        drained_.take() = store.drained;
        stores_.push_back(store);
        if (stores_.size() > drained_.size())
            stores_.pop_front();
        return store.drained;
    }

    // Forgets the oldest stores that had drained at `now`: nobody asks for an earlier cycle again.
    void forget_drained(Cycle now) {
        while (!stores_.empty() && stores_.front().drained.known() &&
               stores_.front().drained.cycle <= now)
            stores_.pop_front();
    }

    // No store after this one begins to drain before then.
    void order_after(Cycle cycle) { ordered_ = std::max(ordered_, cycle); }

    // The youngest store that overlaps and has not drained at `now`; null if there is none.
    const Store *find(uint64_t address, uint32_t size, Cycle now) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            bool overlaps = store->overlaps(address, size);
            if (!overlaps && order_ == store_order::any)
                continue;
            bool drained = memory_.is_done(store->drained, now);
            if (!drained && overlaps)
                return &*store;
            if (drained && order_ != store_order::any)
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

    Cycle drained_at(Cycle now) { return std::max(now, known(last_drained_)); }

    Cycle releases_drained_at(Cycle now) {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (store->release)
                return std::max(now, known(store->drained));
        }
        return now;
    }

  private:
    // Of a store in order behind another one, to a line that the core owns.
    Completion next_start(bool same_line) {
        started_ = started_ < (same_line ? line_width_ : width_) ? started_ + 1 : 1;
        return last_start_ + (started_ > 1 ? 0 : 1);
    }

    Cycle known(Completion &completion) {
        completion = memory_.when(core_, completion);
        return completion.cycle;
    }

    store_order::Value order_;
    uint32_t width_, line_width_, started_ = 0; // how many began in that cycle
    LineId last_line_ = 0;
    Memory &memory_;
    uint32_t core_;
    std::deque<Store> stores_; // the last ones, drained or not
    Ring<Completion> drained_; // of each entry: when its last store had drained
    Completion last_start_, last_drained_;
    Cycle ordered_ = 0;
};

} // namespace lockcross
