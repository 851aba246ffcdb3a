// The process of the simulated program: QEMU with the plugin.
#pragma once

#include <string>
#include <vector>

namespace lockcross {

class Guest {
  public:
    Guest() = default;
    Guest(const Guest &) = delete;
    Guest &operator=(const Guest &) = delete;
    ~Guest() { kill(); }

    // Starts it, without an environment and with no file but `shared` and its output. "@FD@" in
    // its arguments becomes the number of `shared`. The kernel kills it when this process dies.
    // Throws Failure.
    void start(std::vector<std::string> command, int shared, const std::string &output,
               const std::string &errors);

    // Whether it has ended; false if it was never started. Waits as long as `milliseconds` for it.
    bool has_ended(int milliseconds = 0);

    // Ends it if need be. Nothing of it is left afterwards.
    void kill();

    // Its exit code, or minus the signal that killed it; once it has ended.
    int exit_code() const { return exit_code_; }

    // How it ended, in words.
    std::string how() const;

  private:
    void reap();

    int process_ = -1; // while it runs
    int handle_ = -1;  // its pidfd
    bool ended_ = false;
    int exit_code_ = 0;
};

} // namespace lockcross
