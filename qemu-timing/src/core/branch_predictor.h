// A small branch predictor: two-bit counters for conditional branches, the last target for indirect
// ones, a stack for returns.
#pragma once

#include "isa/insn.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

class BranchPredictor {
  public:
    // entries: a power of two.
    explicit BranchPredictor(uint32_t entries)
        : mask_(entries - 1), counters_(entries, 1), targets_(entries) {}

    // Whether the branch at pc was predicted to go to target; learns that it does. fallthrough: the
    // address after the branch.
    bool predicted(Branch kind, uint64_t pc, uint64_t fallthrough, uint64_t target) {
        switch (kind) {
        case Branch::Conditional:
            return conditional(index(pc), target != fallthrough);
        case Branch::Indirect:
            return last_target(index(pc), target);
        case Branch::IndirectCall:
            push(fallthrough);
            return last_target(index(pc), target);
        case Branch::Call:
            push(fallthrough);
            return true;
        case Branch::Return:
            return pop() == target;
        case Branch::ConditionalReturn: {
            bool taken = target != fallthrough;
            bool right = conditional(index(pc), taken);
            return taken ? (pop() == target) && right : right;
        }
        default:
            return true;
        }
    }

    // A conditional branch that was predicted and then squashed trains its counter all the same,
    // with its prediction.
    void squashed(Branch kind, uint64_t pc) {
        uint8_t counter = counters_[index(pc)];
        if (kind == Branch::Conditional || kind == Branch::ConditionalReturn)
            conditional(index(pc), counter >= 2);
    }

  private:
    size_t index(uint64_t pc) const { return (pc ^ (pc >> 2) ^ (pc >> 12)) & mask_; }

    bool conditional(size_t i, bool taken) {
        uint8_t &counter = counters_[i];
        bool right = (counter >= 2) == taken;
        if (taken && counter < 3)
            counter++;
        if (!taken && counter > 0)
            counter--;
        return right;
    }

    bool last_target(size_t i, uint64_t target) {
        bool right = targets_[i] == target;
        targets_[i] = target;
        return right;
    }

    void push(uint64_t address) { returns_[depth_++ % returns_.size()] = address; }
    uint64_t pop() { return depth_ ? returns_[--depth_ % returns_.size()] : 0; }

    uint64_t mask_;
    std::vector<uint8_t> counters_;
    std::vector<uint64_t> targets_;
    std::array<uint64_t, 16> returns_{};
    uint64_t depth_ = 0;
};

} // namespace lockcross
