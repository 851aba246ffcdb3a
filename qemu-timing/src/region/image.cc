#include "region/image.h"

#include "output/failure.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <string>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace lockcross {

namespace {

// Reads what is mapped of [from, from + size). The kernel copies: it refuses a page that is not
// mapped, and raises no signal.
void read(const Image &image, size_t from, size_t size, Zeroed<uint8_t> &copy) {
    static const pid_t self = getpid();
    iovec to{&copy[from], size}, source{image.host + from, size};
    if (process_vm_readv(self, &to, 1, &source, 1, 0) < 0 && errno != EFAULT) {
        fail(Exit::Failure,
             std::string("cannot read the program's memory: ") + std::strerror(errno));
    }
}

// How much of the image has come from the program's file, from the image's begin on: a page of that
// has content before it is touched. All of it where the image does not begin as a program does.
size_t size_in_file(const Image &image) {
    Elf64_Ehdr header;
    if (image.size() < sizeof header)
        return image.size();
    std::memcpy(&header, image.host, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        !image.contains(image.begin + header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)))
        return image.size();
    size_t end = 0;
    uint64_t base = UINT64_MAX;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        std::memcpy(&segment, image.host + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type != PT_LOAD)
            continue;
        base = std::min(base, segment.p_vaddr - segment.p_offset);
        end = std::max(end, size_t(segment.p_vaddr + segment.p_filesz - base));
    }
    return std::min(end, size_t(image.size()));
}

// For each page from `host` on, whether this process has it, in memory or swapped out. Empty where
// the system does not say.
std::vector<bool> pages_there(const uint8_t *host, size_t pages, size_t page) {
    constexpr uint64_t kThere = uint64_t(3) << 62;
    std::vector<uint64_t> entries(pages);
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t first = off_t(reinterpret_cast<uintptr_t>(host) / page * sizeof(uint64_t));
    ssize_t size = ssize_t(pages * sizeof(uint64_t));
    bool told = file >= 0 && pread(file, entries.data(), size_t(size), first) == size;
    if (file >= 0)
        close(file);
    std::vector<bool> there(told ? pages : 0);
    for (size_t i = 0; i < there.size(); i++)
        there[i] = entries[i] & kThere;
    return there;
}

} // namespace

Zeroed<uint8_t> copy_of(const Image &image) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE)), size = image.size();
    Zeroed<uint8_t> copy(size);
    // Pages are those of the host's memory, which the image may begin in the middle of.
    const uint8_t *host = image.host - reinterpret_cast<uintptr_t>(image.host) % page;
    const size_t before = size_t(image.host - host), in_file = size_in_file(image);
    const size_t pages = (before + size + page - 1) / page;
    const std::vector<bool> there = pages_there(host, pages, page);
    for (size_t i = 0; i < pages; i++) {
        size_t from = i ? i * page - before : 0, end = std::min((i + 1) * page - before, size);
        if (from < in_file || there.empty() || there[i])
            read(image, from, end - from, copy);
    }
    return copy;
}

} // namespace lockcross
