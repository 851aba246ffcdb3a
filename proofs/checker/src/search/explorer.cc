#include "search/explorer.h"

#include <algorithm>

namespace prove {

Explorer::Found Explorer::begin() {
    machine_.begin();
    Found found = machine_.broken() ? broken(0, {}) : arrive(0, {});
    edges_.clear();
    return found;
}

Explorer::Found Explorer::begin_here() {
    Found found = arrive(0, {});
    edges_.clear();
    return found;
}

Explorer::Found Explorer::broken(StateId from, Choice by) {
    if (program_.layout_changed())
        return Found::kLayoutChanged;
    if (states_.size() > 0) {
        path_ = states_.path(from);
        path_.push_back(by);
    }
    return Found::kFailure;
}

// The machine has come to a state.
Explorer::Found Explorer::arrive(StateId from, Choice by) {
    machine_.save(words_);
    auto [id, is_new] = states_.add(hash_words(words_.data(), words_.size()), from, by);
    edges_.push_back(id);
    if (!is_new)
        return Found::kNothing;
    if (machine_.beyond()) {
        beyond_++;
        ends_.push_back(id);
        return Found::kNothing;
    }
    if (!machine_.ended()) {
        open_.emplace_back(id, words_);
        return Found::kNothing;
    }
    ends_.push_back(id);
    machine_.check_end();
    if (!machine_.broken())
        return Found::kNothing;
    path_ = states_.path(id);
    return Found::kFailure;
}

Explorer::Found Explorer::expand() {
    auto [id, state] = std::move(newest_first_ ? open_.back() : open_.front());
    if (newest_first_)
        open_.pop_back();
    else
        open_.pop_front();
    expanded_.emplace_back(id, static_cast<uint32_t>(edges_.size()));
    machine_.load(state.data(), state.size());
    machine_.choices(choices_);
    for (Choice choice : choices_) {
        machine_.load(state.data(), state.size());
        machine_.take(choice);
        Found found = machine_.broken() ? broken(id, choice) : arrive(id, choice);
        if (found != Found::kNothing)
            return found;
    }
    return Found::kNothing;
}

bool Explorer::find_trap() {
    std::vector<uint8_t> can_end(states_.size());
    for (StateId end : ends_)
        can_end[end] = 1;
    auto edges_of = [&](size_t i) {
        size_t last = i + 1 < expanded_.size() ? expanded_[i + 1].second : edges_.size();
        return std::pair(edges_.begin() + expanded_[i].second,
                         edges_.begin() + static_cast<std::ptrdiff_t>(last));
    };
    for (bool changed = true; changed;) { // most edges lead to later states: a few rounds do
        changed = false;
        for (size_t i = expanded_.size(); i-- > 0;) {
            StateId id = expanded_[i].first;
            auto [from, to] = edges_of(i);
            if (can_end[id] || std::none_of(from, to, [&](StateId next) { return can_end[next]; }))
                continue;
            can_end[id] = 1;
            changed = true;
        }
    }
    // The nearest state that no step leaves; else the nearest trap.
    StateId trap = UINT32_MAX;
    bool is_still = false;
    for (size_t i = 0; i < expanded_.size(); i++) {
        StateId id = expanded_[i].first;
        if (can_end[id])
            continue;
        auto [from, to] = edges_of(i);
        bool still = std::all_of(from, to, [&](StateId next) { return next == id; });
        if (still > is_still || (still == is_still && id < trap)) {
            trap = id;
            is_still = still;
        }
    }
    if (trap == UINT32_MAX)
        return false;
    path_ = states_.path(trap);
    return true;
}

} // namespace prove
