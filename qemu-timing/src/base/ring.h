// Entries that are used one after another, the first again after the last.
#pragma once

#include <cstddef>
#include <vector>

namespace lockcross {

template <typename Entry> class Ring {
  public:
    explicit Ring(size_t size) : entries_(size) {}

    bool empty() const { return entries_.empty(); }
    size_t size() const { return entries_.size(); }

    // The entry used longest ago, or the one `later` behind it, fewer than there are entries.
    Entry &oldest(size_t later = 0) {
        size_t place = next_ + later;
        return entries_[place < entries_.size() ? place : place - entries_.size()];
    }
    // The same, which is now the one used last.
    Entry &take() {
        Entry &entry = entries_[next_];
        next_ = next_ + 1 < entries_.size() ? next_ + 1 : 0;
        return entry;
    }

    auto begin() { return entries_.begin(); }
    auto end() { return entries_.end(); }

  private:
    std::vector<Entry> entries_;
    size_t next_ = 0;
};

} // namespace lockcross
