// Files that a run leaves.
#pragma once

#include <string>

namespace lockcross {

// Ends the process (Exit::Failure) when the file cannot be written.
void write_file(const std::string &path, const std::string &bytes);

} // namespace lockcross
