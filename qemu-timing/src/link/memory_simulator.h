// What simulates the memory system in another process.
#pragma once

#include "base/counts.h"
#include "link/link.h"

#include <cstdint>
#include <vector>

namespace lockcross {

class MemorySimulator {
  public:
    virtual ~MemorySimulator() = default;

    // Hands over requests, which are then gone from the list, and lets time pass until the first
    // cycle in which a request is done, or until `until`. Returns what is done by then.
    virtual std::vector<LinkAnswer> exchange(std::vector<LinkRequest> &requests, Cycle until) = 0;
    // Its cycle.
    virtual Cycle now() const = 0;
    // The cycles of an L1 hit that its answers include.
    virtual Cycle lat_l1() const = 0;
    // The cycles that the answer to a miss takes at least.
    virtual Cycle lat_miss() const = 0;
    // The region of interest has ended.
    virtual void finish() = 0;
};

} // namespace lockcross
