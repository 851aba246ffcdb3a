// How the plugin ends a run that cannot go on.
#pragma once

#include <string>

namespace lockcross {

// Exit codes of QEMU with the plugin; docs/interfaces.md, section 6.
enum class Exit { BadOptions = 2, Limit = 3, Failure = 4 };

// Writes one line to standard error and ends the process.
[[noreturn]] void fail(Exit code, const std::string &message);

} // namespace lockcross
