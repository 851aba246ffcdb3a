#include "region/image.h"

#include "output/failure.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/uio.h>
#include <unistd.h>

namespace lockcross {

std::vector<uint8_t> copy_of(const Image &image) {
    constexpr size_t kPage = 4096;
    std::vector<uint8_t> copy(image.size());
    for (size_t from = 0; from < copy.size(); from += kPage) {
        size_t size = std::min(kPage, copy.size() - from);
        iovec to{&copy[from], size}, source{image.host + from, size};
        // The kernel copies: it refuses a page that is not mapped, and raises no signal.
        ssize_t got = process_vm_readv(getpid(), &to, 1, &source, 1, 0);
        if (got < 0 && errno != EFAULT) {
            fail(Exit::Failure,
                 std::string("cannot read the program's memory: ") + std::strerror(errno));
        }
    }
    return copy;
}

} // namespace lockcross
