// Private L1 data caches, a shared inclusive L2, and a full-map MESI directory.
//
// Invariants: a line in E or M has exactly one sharer; a line in I has none; whatever is in an L1
// is in the L2.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "base/zeroed.h"
#include "memory/completion.h"
#include "memory/core_set.h"
#include "memory/line_id.h"
#include "memory/memory.h"
#include "memory/tags.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

class CacheHierarchy final : public Memory {
  public:
    // lines: of the program's image; counts: one entry for each core, kept by the caller.
    CacheHierarchy(const Options &options, uint32_t lines, std::vector<Counts> &counts);

    AccessDelay read(uint32_t core, LineId line, Cycle now) override;
    AccessDelay get_exclusive(uint32_t core, LineId line, Cycle now, CoherenceEvent access,
                              Cycle writing) override;
    Completion drain(uint32_t core, LineId line, Completion start) override;
    void write_in_flight_until(uint32_t core, LineId line, Completion until) override;
    bool is_exclusive(uint32_t core, LineId line) const override {
        return state(core, line) >= Mesi::E;
    }
    bool has_copy(uint32_t core, LineId line) const override {
        return state(core, line) != Mesi::I;
    }

    Mesi state(uint32_t core, LineId line) const;

  private:
    // A line's directory entry, and its accesses in flight. At first all of it is zero.
    struct Line {
        CoreSet sharers;
        Mesi state;             // of all sharers
        bool in_l2, used;       // used: since the begin of the region
        uint8_t owner;          // where it is E or M: the only sharer
        uint8_t writer, reader; // of the accesses in flight
        Stall fill_cause;
        Cycle write_until, read_until;
        Cycle fill_until; // when its owner's copy holds the data
    };
    static_assert(Mesi(0) == Mesi::I);

    AccessDelay take(uint32_t core, LineId line, Cycle now, CoherenceEvent access);
    AccessDelay fill_from_below(Line &line, LineId id);
    Cycle hold_for_conflict(uint32_t core, const Line &line, Cycle now, bool write);
    void invalidate_others(uint32_t core, Line &line, LineId id);
    void drop_copy(uint32_t core, Line &line, LineId id, CoherenceEvent why);
    void insert_in_l1(uint32_t core, LineId id);
    void insert_in_l2(LineId id);
    uint64_t &count(uint32_t core, CoherenceEvent event, Mesi state) {
        return counts_[core].coherence[size_t(event)][size_t(state)];
    }

    const Options &options_;
    std::vector<Counts> &counts_;
    Zeroed<Line> lines_;
    std::vector<Tags> l1_;
    Tags l2_;
};

} // namespace lockcross
