// Memory without caches: every access takes the same time.
#pragma once

#include "base/counts.h"
#include "memory/completion.h"
#include "memory/line_id.h"
#include "memory/memory.h"

#include <cstdint>

namespace lockcross {

class FlatMemory final : public Memory {
  public:
    static constexpr Cycle kLatency = 77;

    FlatMemory() : Memory(1) {}
    AccessDelay read(uint32_t, LineId, Cycle) override { return {0, kLatency, Stall::Memory}; }
    AccessDelay get_exclusive(uint32_t, LineId, Cycle, CoherenceEvent, Cycle) override {
        return {0, kLatency, Stall::Memory};
    }
    Completion drain(uint32_t, LineId, Completion start) override { return start + kLatency; }
    void write_in_flight_until(uint32_t, LineId, Completion) override {}
    bool is_exclusive(uint32_t, LineId) const override { return false; }
    bool has_copy(uint32_t, LineId) const override { return false; }
};

} // namespace lockcross
