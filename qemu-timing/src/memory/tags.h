// Tags of a set-associative cache with least-recently-used replacement. They say which lines are in
// the cache, and nothing of their state.
#pragma once

#include "memory/line_id.h"

#include <cstddef>
#include <cstdint>
#include <vector>

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
            if (entry.line == line) {
                entry.used = ++clock_;
                return kNoLine;
            }
            if (entry.used < victim->used)
                victim = &entry;
        }
        LineId evicted = victim->line;
        *victim = {line, ++clock_};
        return evicted;
    }

    void remove(LineId line) {
        if (line == last_)
            last_ = kNoLine;
        Entry *set = set_of(line);
        for (uint32_t way = 0; way < ways_; way++) {
            if (set[way].line == line)
                set[way] = Entry{};
        }
    }

  private:
    struct Entry {
        LineId line = kNoLine;
        uint64_t used = 0; // 0: free
    };

    Entry *set_of(LineId line) { return &entries_[size_t(line & set_mask_) * ways_]; }

    uint32_t ways_, set_mask_;
    std::vector<Entry> entries_;
    uint64_t clock_ = 0;
    LineId last_ = kNoLine; // touched last: the common case takes one comparison
};

} // namespace lockcross
