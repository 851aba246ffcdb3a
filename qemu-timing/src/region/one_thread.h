// One host thread, that of the core with the first turn, runs the code of all cores inside the
// region, so that a turn costs no system call. The other host threads sleep meanwhile, and each
// core's code goes back to its own when the region is over:
//
//   host thread of core 0    of core 1                of core 2, which has the first turn
//   core 0 is saved, sleeps  core 1 is saved, sleeps  core 2 runs, and is saved
//        .                        .                   core 0 goes on ... core 1 ... core 2 ...
//        .                        .                   core 1 leaves, and is saved
//        .                        .                   core 2 leaves, and is saved
//        .                        .                   core 0 leaves as the last, and is saved
//   wakes, core 0 goes on    wakes, core 1 goes on    core 2 goes on
//
// What belongs to a thread, of the C library and of QEMU, follows the thread pointer, which changes
// with the core. So both believe that their threads run in turn, as they do with OwnThreads.
#pragma once

#include "region/futex.h"
#include "region/host_threads.h"
#include "region/switch_context.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>

namespace lockcross {

class OneThread final : public HostThreads {
  public:
    explicit OneThread(uint32_t cores);

    // Whether this host, and the tool that this process may run under, allow it.
    static bool possible();

    void enter(uint32_t core, uint32_t first) override;
    void switch_to(uint32_t core, uint32_t next) override;
    void leave(uint32_t core, uint32_t next) override;
    void leave_last(uint32_t core) override;

  private:
    // What is saved of a core, and its host thread, which sleeps on a small stack: its own is the
    // core's. It takes no signals there.
    struct Home : lockcross_context {
        OneThread *threads = nullptr;
        Futex over; // awake when the core is to go on here
        sigset_t signals{};
        alignas(16) unsigned char stack_of_sleep[4096];
    };

    static void sleep(lockcross_context *home);

    const uint32_t cores_;
    const std::unique_ptr<Home[]> homes_; // of each core
    std::atomic<uint32_t> saved_{0};      // cores that have come in and are saved
    Futex all_saved_;                     // awake when all are but the first
    uint32_t runner_ = 0;                 // the core whose host thread runs
    static constexpr uint32_t kNobody = UINT32_MAX;
    uint32_t going_home_ = kNobody; // the last core, unless it is the runner
};

} // namespace lockcross
