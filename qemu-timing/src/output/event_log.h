// The lock events of a run: a binary log, docs/interfaces.md, section 6.
#pragma once

#include "base/counts.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace lockcross {

constexpr size_t kMaxLockEvents = 4'000'000; // 64 MB

// What a program reports of a lock operation.
struct LockEvent {
    Cycle cycle;
    uint32_t core;
    uint32_t object; // address, from the start of the image
    uint16_t thread;
    uint8_t kind, state;
};

class EventLog {
  public:
    // An object with a lock was made, in the region of interest or before it.
    void add_object(uint64_t address) { objects_.insert(address); }
    // False when the log is full.
    bool add(const LockEvent &event);
    // The whole file: the header, then the events by cycle, those of one cycle by core.
    std::string to_bytes(uint64_t image, uint32_t clock_mhz) const;

  private:
    std::unordered_set<uint64_t> objects_;
    std::vector<LockEvent> events_;
};

} // namespace lockcross
