#include "client/frames.h"

#include "client/coroutine.h"

#include <cstring>

// The bounds of the table's section, by the linker: none in a program without one.
extern "C" __attribute__((weak)) const uint8_t __start_prove_frames[], __stop_prove_frames[];

namespace prove {

namespace {

// A row: the return address, the size of the frame, why each saved register is live, and each byte
// of the frame (liveness/main.cc).
constexpr size_t kSize = 8, kRegisters = 12, kBytes = kRegisters + kSavedRegisters;

template <typename T> T read(const uint8_t *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

uint32_t frame_bytes(const uint8_t *row) { return read<uint32_t>(row + kSize); }

// `needed`: bit 0 if the function reads it, bit 1 + r if it is register r when that returns.
// `caller`: the registers that the caller reads then.
bool is_live(uint8_t needed, uint8_t caller) { return needed & 1 || needed >> 1 & caller; }

} // namespace

Frames::Frames() {
    const uint8_t *row = __start_prove_frames;
    while (row != __stop_prove_frames) {
        rows_.emplace(read<uint64_t>(row), row);
        row += kBytes + frame_bytes(row);
    }
}

void Frames::find_dead(const uint8_t *bytes, uint64_t stack_pointer, uint64_t high,
                       uint64_t registers) {
    dead_.clear();
    frames_.clear();
    if (registers < stack_pointer || registers >= high)
        return;
    const uint64_t size = high - stack_pointer, saved = registers - stack_pointer;
    for (uint64_t at = saved + 8 * kSavedRegisters; at + 8 <= size;) { // of a return address
        auto row = rows_.find(read<uint64_t>(bytes + at));
        if (row == rows_.end())
            break;
        frames_.push_back({row->second, at + 8});
        at += 8 + frame_bytes(row->second);
    }
    uint8_t live = 0xff; // registers, behind the call at hand
    for (size_t i = frames_.size(); i-- > 0;) {
        const auto [row, offset] = frames_[i];
        for (uint32_t byte = 0; byte < frame_bytes(row); byte++) {
            if (!is_live(row[kBytes + byte], live))
                dead_.push_back(static_cast<uint32_t>(offset + byte));
        }
        uint8_t live_here = 0;
        for (unsigned r = 0; r < kSavedRegisters; r++)
            live_here |= static_cast<uint8_t>(is_live(row[kRegisters + r], live) << r);
        live = live_here;
    }
    for (unsigned r = 0; r < kSavedRegisters; r++) {
        if (live >> r & 1)
            continue;
        for (unsigned byte = 0; byte < 8; byte++)
            dead_.push_back(static_cast<uint32_t>(saved + 8 * (kSavedRegisters - 1 - r) + byte));
    }
}

} // namespace prove
