// Ends a run that stands still. QEMU stops all vCPUs before it ends a program that has crashed, and
// those that wait for their turn do not stop.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace lockcross {

class Watchdog {
  public:
    // Looks at the threads of this process once a second, until it is stopped, and calls
    // `stands_still` when it has found all of them asleep five times in a row.
    explicit Watchdog(std::function<void()> stands_still);
    ~Watchdog() { stop(); }
    Watchdog(const Watchdog &) = delete;
    Watchdog &operator=(const Watchdog &) = delete;

    void stop();

  private:
    void watch();

    const std::function<void()> stands_still_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false; // guarded by mutex_
    std::thread thread_;
};

// Whether every thread of this process but the calling one sleeps, as /proc has it.
bool all_others_sleep();

} // namespace lockcross
