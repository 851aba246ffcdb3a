#include "region/watchdog.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <utility>

namespace lockcross {

namespace {

// The letter behind the name, which is in brackets and may have brackets itself; 'S' is sleep that
// a signal ends. A thread that has just ended counts as asleep.
char state_of(const std::filesystem::path &task) {
    std::ifstream file(task / "stat");
    std::string line;
    std::getline(file, line);
    size_t name_end = line.rfind(')');
    return name_end == std::string::npos || name_end + 2 >= line.size() ? 'S' : line[name_end + 2];
}

} // namespace

bool all_others_sleep() {
    std::string self = std::to_string(gettid());
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() != self && state_of(task.path()) != 'S')
            return false;
    }
    return true;
}

// QEMU's signals are for its own threads.
Watchdog::Watchdog(std::function<void()> stands_still) : stands_still_(std::move(stands_still)) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { watch(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Watchdog::stop() {
    {
        std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable())
        thread_.join();
}

void Watchdog::watch() {
    constexpr int kLooks = 5;
    constexpr std::chrono::seconds kBetween{1};
    std::unique_lock lock(mutex_);
    for (int asleep = 0; !changed_.wait_for(lock, kBetween, [this] { return stopped_; });) {
        asleep = all_others_sleep() ? asleep + 1 : 0;
        if (asleep == kLooks) {
            stands_still_();
            return;
        }
    }
}

} // namespace lockcross
