// Tags of a set-associative cache with least-recently-used replacement. They say which lines are in
// the cache, and nothing of their state.
#pragma once

#include "base/zeroed.h"
#include "memory/line_id.h"

#include <cstddef>
#include <cstdint>

namespace lockcross {

class Tags {
  public:
    // size and line in bytes; size is a power of two times ways times line.
    Tags(uint32_t size, uint32_t ways, uint32_t line)
        : ways_(ways), set_mask_(size / (ways * line) - 1), entries_(size_t(set_mask_ + 1) * ways) {
    }

    // Makes the line the most recently used; inserts it if it is absent.
    // Returns the line that was evicted for it, or kNoLine.
    LineId touch(LineId line) {
        if (line == last_)
            return kNoLine;
        last_ = line;
        Entry *set = set_of(line);
        Entry *victim = set;
        for (uint32_t way = 0; way < ways_; way++) {
            Entry &entry = set[way];
            if (entry.tag == tag_of(line)) {
                entry.used = ++clock_;
                return kNoLine;
            }
            if (entry.used < victim->used)
                victim = &entry;
        }
        LineId evicted = victim->tag - 1;
        *victim = {tag_of(line), ++clock_};
        return evicted;
    }

    void remove(LineId line) {
        if (line == last_)
            last_ = kNoLine;
        Entry *set = set_of(line);
        for (uint32_t way = 0; way < ways_; way++) {
            if (set[way].tag == tag_of(line))
                set[way] = Entry{};
        }
    }

  private:
    struct Entry {
        uint32_t tag; // the line's number and one; 0: free
        uint64_t used;
    };

    static uint32_t tag_of(LineId line) { return line + 1; }
    static_assert(LineId(-1) == kNoLine); // so that a free entry evicts no line

    Entry *set_of(LineId line) { return &entries_[size_t(line & set_mask_) * ways_]; }

    uint32_t ways_, set_mask_;
    Zeroed<Entry> entries_;
    uint64_t clock_ = 0;
    LineId last_ = kNoLine; // touched last: the common case takes one comparison
};

} // namespace lockcross
