// The host threads of the cores inside the region. Exactly one core's code runs at a time; this is
// how the others wait, and how the next one goes on.
#pragma once

#include <cstdint>
#include <memory>

namespace lockcross {

class HostThreads {
  public:
    virtual ~HostThreads() = default;

    // The thread of that core comes in. Returns when the core has its first turn. The first turn of
    // all is that of core `first`, once all are in.
    virtual void enter(uint32_t core, uint32_t first) = 0;
    // Core `core`, which runs, waits, and `next`, another one, goes on. Returns when the core has
    // its turn again.
    virtual void switch_to(uint32_t core, uint32_t next) = 0;
    // Core `core`, which runs, leaves for good, and `next` goes on. May return before the last core
    // has left, or after.
    virtual void leave(uint32_t core, uint32_t next) = 0;
    // The last core leaves.
    virtual void leave_last(uint32_t core) = 0;
};

// Each core's code on its own host thread if `own` is set, or where the host knows no other way;
// else all of it on one.
std::unique_ptr<HostThreads> make_host_threads(uint32_t cores, bool own);

} // namespace lockcross
