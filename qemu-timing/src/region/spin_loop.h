// Recognizes a core that waits: that runs a loop of one load, which finds the same value each time
// until another core writes it.
//
// Such a loop goes round alike, as far as the program goes, if it makes no other access but fences,
// and each register that it reads is either never written in it or written before it is read. Then
// QEMU need not execute it: the core model alone runs its iterations, in the same cycles, and the
// thread sleeps until another core takes the line.
#pragma once

#include "core/block.h"

#include <cstdint>
#include <vector>

namespace lockcross {

class SpinLoop {
  public:
    // What the core model is told, in order: a block begins; or a load or a fence within it.
    struct Step {
        const Block *block = nullptr;
        const TimedInsn *insn = nullptr;
        uint64_t address = 0;
        uint32_t size = 0; // 0: a fence
        bool operator==(const Step &) const = default;
    };

    // Only cores that hand over their turn are watched.
    bool watching() const { return watching_; }
    void watch() { watching_ = true; }
    // The core does something that ends a loop, or that nobody can foresee.
    void forget() {
        watching_ = repeats_ = false;
        now_.clear();
        before_.clear();
    }

    void begin_block(const Block &block);
    void load(const TimedInsn &insn, uint64_t address, uint32_t size) {
        if (!now_.empty()) // else the block began before
            now_.push_back({nullptr, &insn, address, size});
    }
    void fence(const TimedInsn &insn) { load(insn, 0, 0); }

    // Whether the core, which is about to execute this load, goes round such a loop.
    bool repeats_at(const TimedInsn &load) const;
    // The steps of an iteration, from that load on.
    std::vector<Step> iteration() const;

  private:
    static constexpr size_t kLongest = 32; // steps

    // Whether the iteration that has just ended is one of such a loop.
    bool only_waits() const;

    bool watching_ = false, repeats_ = false;
    std::vector<Step> now_, before_; // this iteration so far; the one before
};

} // namespace lockcross
