#include "output/file.h"

#include "output/failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace lockcross {

void write_file(const std::string &path, const std::string &bytes) {
    std::FILE *file = std::fopen(path.c_str(), "w");
    bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file && std::fclose(file) != 0)
        written = false;
    if (!written)
        fail(Exit::Failure, "cannot write " + path + ": " + std::strerror(errno));
}

} // namespace lockcross
