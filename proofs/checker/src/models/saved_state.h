// A state of the weak models' memory as it is kept: a row of words.
//
// Its fields stand in one place, WeakMemory::each_field(), each under the rule by which one state
// covers another. Who goes through the fields is one of the classes here; so nothing is part of a
// state without such a rule.
//
//   field           StateWriter,   SubsumptionClass     Coverage: one state covers another if
//                   StateReader
//   same            words          words                they are equal
//   messages        count, heads   values of the last   the last ones of the covering state are all
//                                                       those of the covered one
//   message_views,  words          -                    the covering state's has seen no message,
//   view                                                and knows no event, that the covered one's
//                                                       has not and does not
#pragma once

#include "client/hash.h"
#include "models/history.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace prove {

// How the words of a view are divided.
struct ViewShape {
    unsigned slots = 0;           // whose timestamps come first
    unsigned timestamp_words = 0; // that these take
    unsigned words = 0;           // of timestamps and events
};

inline constexpr size_t kHeadWords = sizeof(MessageHead) / sizeof(uint64_t);
using HeadWords = std::array<uint64_t, kHeadWords>;

class StateWriter {
  public:
    StateWriter(std::vector<uint64_t> &words, const ViewShape &shape)
        : words_(words), shape_(shape) {}

    void same(std::span<const uint64_t> field) {
        words_.insert(words_.end(), field.begin(), field.end());
    }
    void messages(const History &history) {
        words_.push_back(history.messages.size());
        for (const MessageHead &head : history.messages)
            same(std::bit_cast<HeadWords>(head));
    }
    void message_views(const History &history) {
        for (const Message &message : history.messages)
            view(message.view);
    }
    void view(const View &view) { same({view.words.data(), shape_.words}); }

  private:
    std::vector<uint64_t> &words_;
    const ViewShape shape_;
};

class StateReader {
  public:
    StateReader(const uint64_t *words, const ViewShape &shape) : words_(words), shape_(shape) {}

    void same(std::span<uint64_t> field) {
        std::copy_n(words_, field.size(), field.begin());
        words_ += field.size();
    }
    void messages(History &history) {
        history.messages.resize(*words_++);
        for (MessageHead &head : history.messages) {
            HeadWords words;
            same(words);
            head = std::bit_cast<MessageHead>(words);
        }
    }
    void message_views(History &history) {
        for (Message &message : history.messages)
            view(message.view);
    }
    void view(View &view) { same({view.words.data(), shape_.words}); }

  private:
    const uint64_t *words_;
    const ViewShape shape_;
};

// The messages of one history in a saved state, without their views.
class SavedMessages {
  public:
    explicit SavedMessages(const uint64_t *words) : count_(words[0]), heads_(words + 1) {}

    size_t count() const { return count_; }
    MessageHead head(size_t index) const {
        HeadWords words;
        std::copy_n(heads_ + index * kHeadWords, kHeadWords, words.begin());
        return std::bit_cast<MessageHead>(words);
    }
    const uint64_t *end() const { return heads_ + count_ * kHeadWords; }

  private:
    size_t count_;
    const uint64_t *heads_;
};

// Only states of one class are looked at for whether one covers another. In a divided history,
// where any message may be the last to a unit, that takes in all messages: some that cover are
// missed.
class SubsumptionClass {
  public:
    // `known`: words that states of one class share beside the memory's.
    SubsumptionClass(std::span<const uint64_t> known, const uint64_t *words)
        : words_(words), shared_(known.begin(), known.end()) {}

    void same(std::span<const uint64_t> field) {
        shared_.insert(shared_.end(), words_, words_ + field.size());
        words_ += field.size();
    }
    void messages(const History &history);
    void message_views(const History &) {}
    void view(const View &) {}

    Hash hash() const { return hash_words(shared_.data(), shared_.size()); }

  private:
    const uint64_t *words_;
    std::vector<uint64_t> shared_;
};

// Whether one saved state covers another of the same program.
class Coverage {
  public:
    Coverage(const uint64_t *more, const uint64_t *less, const ViewShape &shape)
        : more_(more), less_(less), shape_(shape) {}

    void same(std::span<const uint64_t> field);
    void messages(const History &history);
    void message_views(const History &history);
    void view(const View &) { compare_view(); }

    bool holds() const { return holds_; }

  private:
    void compare_view();
    bool has_seen_no_more() const;

    const uint64_t *more_, *less_;
    const ViewShape shape_;
    bool holds_ = true;
    // By slot: messages in the covered state's history, and in the covering one's before those.
    std::array<uint8_t, kMostSlots> counts_, longer_;
};

} // namespace prove
