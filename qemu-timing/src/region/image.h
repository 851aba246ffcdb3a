// The guest's memory, as the simulation sees it.
#pragma once

#include "base/zeroed.h"

#include <cstdint>

namespace lockcross {

// The program's image, which holds all memory that the guest uses.
struct Image {
    uint64_t begin = 0, end = 0; // guest addresses
    uint8_t *host = nullptr;     // where `begin` lies in this process

    uint64_t size() const { return end - begin; }
    // Whether the `size` bytes at a guest address lie in the image.
    bool contains(uint64_t address, uint64_t size) const {
        return address >= begin && address + size <= end;
    }
};

// The image's bytes. Pages between its segments that are not mapped read as zeros. Those that the
// program has not touched yet are neither read nor written, where the system tells which they are:
// most of a program is room that it does not use.
Zeroed<uint8_t> copy_of(const Image &image);

} // namespace lockcross
