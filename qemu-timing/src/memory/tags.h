// Tags of a set-associative cache with least-recently-used replacement. It knows which lines are
// in the cache and nothing of their state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

using LineId = uint32_t; // number of a line, counted from the start of the program's image
constexpr LineId kNoLine = UINT32_MAX;

class Tags {
  public:
    // size and line in bytes; size is a power of two of sets times ways times line.
    Tags(uint32_t size, uint32_t ways, uint32_t line)
        : ways_(ways), set_mask_(size / (ways * line) - 1), entries_(size_t(set_mask_ + 1) * ways) {
    }

    bool contains(LineId line) const {
        const Entry *set = set_of(line);
        for (uint32_t way = 0; way < ways_; way++) {
            if (set[way].line == line)
                return true;
        }
        return false;
    }

    // Makes line the most recently used; brings it in if it is absent.
    // Returns the line that had to leave, or kNoLine.
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

    const Entry *set_of(LineId line) const { return &entries_[size_t(line & set_mask_) * ways_]; }
    Entry *set_of(LineId line) { return &entries_[size_t(line & set_mask_) * ways_]; }

    uint32_t ways_, set_mask_;
    std::vector<Entry> entries_;
    uint64_t clock_ = 0;
    LineId last_ = kNoLine; // already the most recently used: the common case is one compare
};

} // namespace lockcross
