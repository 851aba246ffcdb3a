#include "output/failure.h"

#include <cstdio>
#include <unistd.h>

namespace lockcross {

void fail(Exit code, const std::string &message) {
    std::fprintf(stderr, "lockcross-timing: %s\n", message.c_str());
    std::fflush(stderr);
    _exit(int(code));
}

} // namespace lockcross
