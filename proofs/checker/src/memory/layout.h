// Which memory the client uses, and how: found out while it runs.
//
// A word is eight aligned bytes. A unit is a run of bytes of one word that no access divides. When
// an access brings a new word, unit or kind of use, the layout has changed and the exploration
// begins anew with what is known now, so that states are comparable and a unit that only one thread
// uses is known to be private.
#pragma once

#include "client/operation.h"

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

namespace prove {

struct Unit {
    uint16_t word = 0;
    uint8_t offset = 0, size = 0; // bytes within the word
    // Threads that use it so, a bit each.
    uint8_t plain_reads = 0, plain_writes = 0, atomic_reads = 0, atomic_writes = 0;
    // More than one thread uses it and one of them writes.
    bool shared = false;
    // Some atomic access has it together with the unit before.
    bool joined = false;
    // For units that are shared and have plain accesses: their number among these. Else kNone.
    uint16_t guarded = kNone;
    static constexpr uint16_t kNone = 0xffff;

    bool plain() const { return plain_reads | plain_writes; }
    bool atomic() const { return atomic_reads | atomic_writes; }
    uint64_t mask() const { return low_bytes(~uint64_t{0}, size) << 8 * offset; } // in its word
};

// The units that an access touches.
struct Extent {
    uint16_t word = 0;
    uint8_t offset = 0, size = 0;
    uint16_t first_unit = 0, units = 0;
    bool shared = false;  // some unit of it is
    bool guarded = false; // some unit of it may race

    // The numbers of its units in the layout.
    auto unit_numbers() const {
        return std::views::iota(unsigned{first_unit}, unsigned{first_unit} + units);
    }
};

class Layout {
  public:
    // A thread may make this access. Returns whether the layout changes by it.
    bool note(const Operation &op, unsigned thread);
    // Makes units of what was noted.
    void settle();
    Extent locate(const Operation &op) const;

    const std::vector<Unit> &units() const { return units_; }
    size_t words() const { return words_.size(); }
    uint64_t word_address(size_t word) const { return words_[word].address; }
    uint8_t word_touched(size_t word) const { return words_[word].touched; }
    unsigned guarded_units() const { return guarded_units_; }

  private:
    struct Byte {
        uint8_t uses[4] = {}; // by kind: threads, a bit each
    };
    struct Word {
        uint64_t address;
        uint8_t touched = 0, cuts = 0; // a cut: a unit begins here
        uint8_t joins = 0;             // some atomic access has this byte and the one before
        Byte bytes[8];
    };
    size_t find(uint64_t address) const; // the word, or where it belongs

    std::vector<Word> words_; // by address
    std::vector<Unit> units_;
    unsigned guarded_units_ = 0;
};

} // namespace prove
