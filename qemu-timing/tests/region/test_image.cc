#include "region/image.h"

#include <cstring>
#include <doctest/doctest.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace lockcross;

namespace {

const size_t kPage = size_t(sysconf(_SC_PAGESIZE));

// Fresh pages of this process.
struct Pages {
    explicit Pages(size_t count) : size(count * kPage) {
        void *made =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(made != MAP_FAILED);
        bytes = static_cast<uint8_t *>(made);
    }
    ~Pages() { munmap(bytes, size); }

    const size_t size;
    uint8_t *bytes;
};

size_t pages_in_memory(const uint8_t *from, size_t count) {
    unsigned char there[64] = {};
    REQUIRE(count <= sizeof there);
    REQUIRE(mincore(const_cast<uint8_t *>(from), count * kPage, there) == 0);
    size_t sum = 0;
    for (unsigned char page : there)
        sum += page & 1;
    return sum;
}

} // namespace

TEST_CASE("a copy has every byte of the image, and zeros where nothing is mapped") {
    Pages pages(8);
    pages.bytes[100] = 1;
    pages.bytes[3 * kPage + 7] = 2;
    pages.bytes[6 * kPage - 1] = 3;
    munmap(pages.bytes + kPage, kPage);
    for (size_t skipped : {size_t(0), size_t(60)}) {
        Image image{0x10000 + skipped, 0x10000 + 6 * kPage, pages.bytes + skipped};
        Zeroed<uint8_t> copy = copy_of(image);
        REQUIRE(copy.size() == 6 * kPage - skipped);
        size_t sum = 0;
        for (size_t i = 0; i < copy.size(); i++)
            sum += copy[i] != 0;
        CHECK(sum == 3);
        CHECK(copy[100 - skipped] == 1);
        CHECK(copy[3 * kPage + 7 - skipped] == 2);
        CHECK(copy[6 * kPage - 1 - skipped] == 3);
    }
}

TEST_CASE("pages that a program has not touched are not touched by a copy of it") {
    Pages pages(40);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_phoff = sizeof header;
    header.e_phnum = 2;
    // Two pages of the file, then thirty of zeros.
    Elf64_Phdr segments[2] = {};
    segments[0].p_type = segments[1].p_type = PT_LOAD;
    segments[0].p_filesz = segments[0].p_memsz = kPage;
    segments[0].p_vaddr = 0x40000;
    segments[1].p_vaddr = 0x40000 + kPage;
    segments[1].p_offset = kPage;
    segments[1].p_filesz = kPage;
    segments[1].p_memsz = 31 * kPage;
    std::memcpy(pages.bytes, &header, sizeof header);
    std::memcpy(pages.bytes + sizeof header, segments, sizeof segments);
    pages.bytes[20 * kPage] = 9;
    Image image{0x40000, 0x40000 + 32 * kPage, pages.bytes};
    Zeroed<uint8_t> copy = copy_of(image);
    CHECK(copy[20 * kPage] == 9);
    CHECK(copy[1] == 'E');
    CHECK(pages_in_memory(pages.bytes, 32) == 3); // header, the file's second page, the touched one
}
