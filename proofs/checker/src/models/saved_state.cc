#include "models/saved_state.h"

#include <algorithm>

namespace prove {

void SubsumptionClass::messages(const History &history) {
    const SavedMessages messages(words_);
    if (history.is_divided())
        shared_.insert(shared_.end(), words_ + 1, messages.end());
    else
        shared_.push_back(messages.head(messages.count() - 1).value);
    words_ = messages.end();
}

void Coverage::same(std::span<const uint64_t> field) {
    holds_ = holds_ && std::equal(more_, more_ + field.size(), less_);
    more_ += field.size();
    less_ += field.size();
}

// Nobody can put a message in front of the first one of the covered state, so nobody asks there
// what is adjacent.
void Coverage::messages(const History &history) {
    if (!holds_)
        return;
    const SavedMessages more(more_), less(less_);
    more_ = more.end();
    less_ = less.end();
    holds_ = more.count() >= less.count();
    if (!holds_)
        return;
    const size_t longer = more.count() - less.count();
    for (unsigned u : history.units) {
        counts_[history.slot(u)] = static_cast<uint8_t>(less.count());
        longer_[history.slot(u)] = static_cast<uint8_t>(longer);
    }
    for (size_t i = 0; i < less.count() && holds_; i++) {
        MessageHead covering = more.head(longer + i), covered = less.head(i);
        if (i == 0)
            covering.adjacent = covered.adjacent;
        holds_ = covering == covered;
    }
}

void Coverage::message_views(const History &history) {
    if (!holds_)
        return;
    more_ += longer_[history.first_slot] * size_t{shape_.words};
    for (unsigned i = counts_[history.first_slot]; i > 0; i--)
        compare_view();
}

void Coverage::compare_view() {
    holds_ = holds_ && has_seen_no_more();
    more_ += shape_.words;
    less_ += shape_.words;
}

bool Coverage::has_seen_no_more() const {
    const auto *seen = reinterpret_cast<const uint8_t *>(more_);
    const auto *other_seen = reinterpret_cast<const uint8_t *>(less_);
    for (unsigned i = 0; i < shape_.slots; i++) {
        if (seen[i] > other_seen[i] + longer_[i])
            return false;
    }
    for (unsigned i = shape_.timestamp_words; i < shape_.words; i++) {
        if (more_[i] & ~less_[i])
            return false;
    }
    return true;
}

} // namespace prove
