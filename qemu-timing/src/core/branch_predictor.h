// A branch predictor: two-bit counters for conditional branches, the last target for indirect ones,
// a stack for returns. With a short history a second table of counters is indexed by the branch and
// the last branches' outcomes, and a third learns which of the two is right (McFarling, Combining
// Branch Predictors, 1993: bimodal and gshare). With a longer one there are several tables, of
// histories from eight branches on, each twice as long as the one before, and the longest that
// knows the branch says (Seznec and Michaud, A case for (partially) tagged geometric history length
// branch prediction, 2006): one long history alone would know no loop behind another of random
// length.
#pragma once

#include "base/ring.h"
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
        : mask_(entries - 1), length_(history), counters_(entries, 1), targets_(entries) {
        if (history > kLongest) {
            for (uint32_t length = kShortest; length < history; length *= 2)
                tagged_.emplace_back(entries, length);
            tagged_.emplace_back(entries, history);
        } else if (history) {
            shared_.assign(entries, 1);
            choice_.assign(entries, 1);
        }
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
        if (!tagged_.empty())
            return by_lengths(i, taken);
        bool own = counted(counters_[i], taken);
        if (shared_.empty())
            return own;
        bool shared = counted(shared_[(i ^ history_) & mask_], taken);
        history_ = (history_ << 1 | uint64_t(taken)) & ((uint64_t(1) << length_) - 1);
        bool right = choice_[i] >= 2 ? shared : own;
        if (own != shared)
            counted(choice_[i], shared);
        return right;
    }

    // The longest history that knows the branch says; else its counter does. What was wrong is
    // learnt with a longer history.
    bool by_lengths(size_t i, bool taken) {
        size_t longer = tagged_.size(); // the first table that is longer than what says
        uint8_t *counter = nullptr;
        for (; longer > 0; longer--) {
            Table &table = tagged_[longer - 1];
            uint64_t hash = table.hash(history_);
            Entry &entry = table.at(i, hash);
            if (entry.tag == Table::tag(i, hash)) {
                counter = &entry.counter;
                entry.useful = (entry.counter >= 2) == taken;
                break;
            }
        }
        bool right = counted(counter ? *counter : counters_[i], taken);
        if (!right)
            learn(i, longer, taken);
        history_ = history_ << 1 | uint64_t(taken);
        for (size_t n = tagged_.size(); n > 0 && tagged_[n - 1].rolls(); n--)
            tagged_[n - 1].roll(taken);
        return right;
    }

    void learn(size_t i, size_t from, bool taken) {
        for (size_t n = from; n < tagged_.size(); n++) {
            uint64_t hash = tagged_[n].hash(history_);
            Entry &entry = tagged_[n].at(i, hash);
            if (!entry.useful) {
                entry = {Table::tag(i, hash), uint8_t(taken ? 2 : 1), false};
                return;
            }
            entry.useful = false;
        }
    }

    bool last_target(size_t i, uint64_t target) {
        bool right = targets_[i] == target;
        targets_[i] = target;
        return right;
    }

    void push(uint64_t address) { returns_[depth_++ % returns_.size()] = address; }
    uint64_t pop() { return depth_ ? returns_[--depth_ % returns_.size()] : 0; }

    struct Entry {
        uint32_t tag = 0; // 0: empty
        uint8_t counter = 1;
        bool useful = false; // was right when it said last
    };
    // What is known of branches with the last `length` outcomes, of which an entry's place and tag
    // are a hash. Of more than 64 that is a number that rolls on with each branch (Karp, Rabin,
    // Efficient Randomized Pattern-Matching Algorithms, 1987): folded by exclusive or, as in
    // hardware, the ends of regular loops would cancel each other.
    class Table {
      public:
        Table(uint32_t entries, uint32_t length)
            : entries_(entries), outcomes_(length > kBits ? length : 0),
              recent_(length < kBits ? (uint64_t(1) << length) - 1 : UINT64_MAX) {
            for (uint32_t i = 0; i < length; i++)
                leaves_ *= kBase;
        }
        bool rolls() const { return !outcomes_.empty(); }
        // history: the last outcomes, a bit each.
        uint64_t hash(uint64_t history) const {
            return rolls() ? rolling_ : (history & recent_) * kBase;
        }
        Entry &at(size_t i, uint64_t hash) {
            return entries_[(i ^ (hash >> 32)) & (entries_.size() - 1)];
        }
        static uint32_t tag(size_t i, uint64_t hash) { return uint32_t(hash >> 8 ^ i * kBase) | 1; }
        void roll(bool taken) {
            uint8_t &outcome = outcomes_.take();
            rolling_ = rolling_ * kBase + uint64_t(taken) - outcome * leaves_;
            outcome = taken;
        }

      private:
        static constexpr uint32_t kBits = 64;
        static constexpr uint64_t kBase = 0x9e3779b97f4a7c15;
        std::vector<Entry> entries_;
        Ring<uint8_t> outcomes_;
        uint64_t recent_; // which of the last 64
        uint64_t rolling_ = 0;
        uint64_t leaves_ = 1; // what a branch counts in `rolling_` that leaves it
    };

    static constexpr uint32_t kLongest = 32, kShortest = 8;
    uint64_t mask_;
    uint32_t length_;
    uint64_t history_ = 0; // the last branches, a bit each: taken
    std::vector<uint8_t> counters_;
    std::vector<uint64_t> targets_;
    std::vector<uint8_t> shared_, choice_; // with a history of up to kLongest branches
    std::vector<Table> tagged_;            // with a longer one: by length, the shortest first
    std::array<uint64_t, 16> returns_{};
    uint64_t depth_ = 0;
};

} // namespace lockcross
