// What of a stopped thread's stack is dead: bytes of the client's frames, and saved registers, that
// nobody reads before they are written again. The client's object file says so, call by call, in a
// table that liveness/ made of its assembly text; of a frame without a row there, and of those
// above it, all is live.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace prove {

class Frames {
  public:
    // The program's own table, if it has one.
    Frames();

    // Puts `fill` into what is dead on a stack that is copied to `bytes` from `stack_pointer` up to
    // `high`. `registers` is where the client's registers were saved when it called the checker
    // (prove_client_frame), 0 if it did not.
    template <typename Fill>
    void overwrite_dead(uint8_t *bytes, uint64_t stack_pointer, uint64_t high, uint64_t registers,
                        Fill fill) {
        find_dead(bytes, stack_pointer, high, registers);
        for (uint32_t offset : dead_)
            bytes[offset] = fill();
    }

  private:
    void find_dead(const uint8_t *bytes, uint64_t stack_pointer, uint64_t high, uint64_t registers);

    std::unordered_map<uint64_t, const uint8_t *> rows_; // by return address
    struct Frame {
        const uint8_t *row;
        uint64_t offset; // of its lowest byte
    };
    std::vector<Frame> frames_;  // of the stack that is looked at, innermost first
    std::vector<uint32_t> dead_; // offsets
};

} // namespace prove
