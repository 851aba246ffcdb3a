#include "output/event_log.h"

#include <algorithm>

namespace lockcross {

namespace {

constexpr char kMagic[] = "LCEVENTS"; // eight bytes
constexpr uint32_t kLogVersion = 1;

void append(std::string &bytes, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes.push_back(char(value >> 8 * i));
}

} // namespace

bool EventLog::add(const LockEvent &event) {
    if (events_.size() == kMaxLockEvents)
        return false;
    events_.push_back(event);
    return true;
}

std::string EventLog::to_bytes(uint64_t image, uint32_t clock_mhz) const {
    // A core that runs ahead of the others reports its events before theirs.
    std::vector<LockEvent> sorted = events_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const LockEvent &a, const LockEvent &b) {
        return a.cycle != b.cycle ? a.cycle < b.cycle : a.core < b.core;
    });
    std::string bytes = kMagic;
    append(bytes, kLogVersion, 4);
    append(bytes, clock_mhz, 4);
    append(bytes, image, 8);
    append(bytes, objects_.size(), 8);
    append(bytes, sorted.size(), 8);
    for (const LockEvent &event : sorted) {
        append(bytes, event.cycle, 8);
        append(bytes, event.object, 4);
        append(bytes, event.thread, 2);
        append(bytes, event.kind, 1);
        append(bytes, event.state, 1);
    }
    return bytes;
}

} // namespace lockcross
