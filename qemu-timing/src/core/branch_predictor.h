// A branch predictor: two-bit counters for conditional branches, the last target for indirect ones,
// a stack for returns. With a history a second table of counters is indexed by the branch and the
// last branches' outcomes, and a third learns which of the two is right (McFarling, Combining
// Branch Predictors, 1993: bimodal and gshare).
#pragma once

#include "isa/insn.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

class BranchPredictor {
  public:
    // entries: of each table, a power of two. history: branches; 0: none.
    explicit BranchPredictor(uint32_t entries, uint32_t history = 0)
        : mask_(entries - 1), counters_(entries, 1), targets_(entries),
          shared_(history ? entries : 0, 1), choice_(history ? entries : 0, 1), outcomes_(history) {
        for (uint32_t i = 0; i < history; i++)
            leaves_ *= kBase;
    }

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

    // Whether a counter says so; it learns.
    static bool counted(uint8_t &counter, bool taken) {
        bool right = (counter >= 2) == taken;
        if (taken && counter < 3)
            counter++;
        if (!taken && counter > 0)
            counter--;
        return right;
    }

    bool conditional(size_t i, bool taken) {
        bool own = counted(counters_[i], taken);
        if (outcomes_.empty())
            return own;
        bool shared = counted(shared_[(i ^ history_) & mask_], taken);
        remember(taken);
        bool right = choice_[i] >= 2 ? shared : own;
        if (own != shared)
            counted(choice_[i], shared);
        return right;
    }

    // A short history is the index's part itself. Of a longer one it is a number that rolls on with
    // each branch (Karp, Rabin, Efficient Randomized Pattern-Matching Algorithms, 1987): folded by
    // exclusive or, as in hardware, the ends of regular loops would cancel each other.
    void remember(bool taken) {
        size_t length = outcomes_.size();
        if (length <= kUnfolded) {
            history_ = (history_ << 1 | uint64_t(taken)) & ((uint64_t(1) << length) - 1);
            return;
        }
        bool oldest = outcomes_[branches_ % length];
        outcomes_[branches_++ % length] = taken;
        rolling_ = rolling_ * kBase + uint64_t(taken) - uint64_t(oldest) * leaves_;
        history_ = rolling_ >> 32;
    }

    bool last_target(size_t i, uint64_t target) {
        bool right = targets_[i] == target;
        targets_[i] = target;
        return right;
    }

    void push(uint64_t address) { returns_[depth_++ % returns_.size()] = address; }
    uint64_t pop() { return depth_ ? returns_[--depth_ % returns_.size()] : 0; }

    static constexpr size_t kUnfolded = 32;
    static constexpr uint64_t kBase = 0x9e3779b97f4a7c15;
    uint64_t mask_;
    uint64_t history_ = 0; // the last branches, a bit each: taken; or a hash of them
    uint64_t rolling_ = 0;
    uint64_t leaves_ = 1; // what a branch counts in `rolling_` that leaves it
    std::vector<uint8_t> counters_;
    std::vector<uint64_t> targets_;
    std::vector<uint8_t> shared_, choice_; // with a history
    std::vector<bool> outcomes_;           // of the last branches
    uint64_t branches_ = 0;
    std::array<uint64_t, 16> returns_{};
    uint64_t depth_ = 0;
};

} // namespace lockcross
