// Each core's code runs on its own host thread, and the others sleep in the kernel: two system
// calls and a change of threads for each turn.
#pragma once

#include "region/futex.h"
#include "region/host_threads.h"

#include <cstdint>
#include <vector>

namespace lockcross {

class OwnThreads final : public HostThreads {
  public:
    explicit OwnThreads(uint32_t cores) : turns_(cores) {}

    void enter(uint32_t core, uint32_t first) override {
        if (core != first)
            turns_[core].sleep();
    }
    void switch_to(uint32_t core, uint32_t next) override {
        turns_[next].wake();
        turns_[core].sleep();
    }
    void leave(uint32_t, uint32_t next) override { turns_[next].wake(); }
    void leave_last(uint32_t) override {}

  private:
    std::vector<Futex> turns_; // each awake when it is that core's turn
};

} // namespace lockcross
