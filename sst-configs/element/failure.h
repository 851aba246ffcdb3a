// How a run ends that does not end well: the exit code of SST and the cause, one line.
#pragma once

#include <stdexcept>
#include <string>

namespace lockcross {

enum class ExitCode {
    Guest = 3,    // the guest died, or its plugin failed
    Link = 4,     // a request that breaks the rules of the link
    Deadlock = 5, // nothing can happen any more
    Hang = 6,     // a request is not answered, though others are
};

class Failure : public std::runtime_error {
  public:
    Failure(ExitCode code, const std::string &cause) : std::runtime_error(cause), code(code) {}

    ExitCode code;
};

} // namespace lockcross
