// The messages of one location, which its stores have left, in coherence order; and views of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace prove {

inline constexpr unsigned kMostSlots = 64; // of all histories together

// Some units of a history. Iterates over their numbers.
class UnitSet {
  public:
    constexpr UnitSet() = default;
    constexpr explicit UnitSet(uint64_t bits) : bits_(static_cast<uint8_t>(bits)) {}
    static constexpr UnitSet first(size_t count) { return UnitSet((1u << count) - 1); }
    static constexpr UnitSet only(unsigned unit) { return UnitSet(1u << unit); }

    constexpr uint8_t bits() const { return bits_; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr bool has(unsigned unit) const { return bits_ >> unit & 1; }
    constexpr bool meets(UnitSet other) const { return bits_ & other.bits_; }
    constexpr void add(UnitSet other) { bits_ |= other.bits_; }
    constexpr UnitSet without(UnitSet other) const { return UnitSet(bits_ & ~other.bits_); }
    constexpr bool operator==(const UnitSet &) const = default;

    class Iterator {
      public:
        constexpr explicit Iterator(unsigned rest) : rest_(rest) {}
        constexpr unsigned operator*() const {
            return static_cast<unsigned>(std::countr_zero(rest_));
        }
        constexpr Iterator &operator++() {
            rest_ &= rest_ - 1;
            return *this;
        }
        constexpr bool operator==(const Iterator &) const = default;

      private:
        unsigned rest_;
    };
    constexpr Iterator begin() const { return Iterator(bits_); }
    constexpr Iterator end() const { return Iterator(0); }

  private:
    uint8_t bits_ = 0;
};

// A view: for each unit (its slot) the timestamp of the oldest message that may still be read, a
// byte each; then the events that are known to have happened before, a bit each. A timestamp is a
// position in a history.
struct View {
    static constexpr unsigned kMostWords = 40;
    std::array<uint64_t, kMostWords> words;

    uint8_t *timestamps() { return reinterpret_cast<uint8_t *>(words.data()); }
    const uint8_t *timestamps() const { return reinterpret_cast<const uint8_t *>(words.data()); }
    void see(unsigned slot, uint8_t timestamp) {
        timestamps()[slot] = std::max(timestamps()[slot], timestamp);
    }
};

// A message without its view. It has no padding, so that its bytes stand for it.
struct MessageHead {
    uint64_t value = 0; // where it is in its word
    UnitSet units = {}; // that it writes
    // For these units nothing may come between the message before and this one: this one is of an
    // update that has read that one, or a load has read that one and this one together.
    UnitSet adjacent = {};
    uint8_t writer = 0; // thread + 1; 0 where nobody asks
    uint8_t unused[5] = {};

    bool operator==(const MessageHead &) const = default;
};
static_assert(std::has_unique_object_representations_v<MessageHead>);

struct Message : MessageHead {
    View view; // what it passes on to who reads it and acquires
};

// Which message each unit of an access reads.
struct ReadsFrom {
    uint8_t point = 0; // the youngest message that is not in the thread's own buffer
    UnitSet forwarded; // units that do
    std::array<uint8_t, 8> message = {};
};

struct History {
    uint16_t word = 0;
    uint16_t first_slot = 0; // in views, of its first unit
    UnitSet units;
    std::vector<Message> messages; // in coherence order

    unsigned slot(unsigned unit) const { return first_slot + unit; }
    // Whether accesses of several sizes share it.
    bool is_divided() const { return units.bits() > 1; }
    // The last message to a unit, up to this timestamp.
    unsigned last_to(unsigned unit, size_t timestamp) const;
    unsigned newest(unsigned unit) const { return last_to(unit, messages.size() - 1); }
    // The youngest message to one of these units that a view has seen.
    unsigned youngest(const View &view, UnitSet some) const;
    // Whether a message to these units may come before the one at this timestamp.
    bool may_insert(UnitSet some, size_t timestamp) const;
    // How many messages to a unit have this timestamp or a later one.
    unsigned count_from(unsigned unit, size_t timestamp) const;
};

} // namespace prove
