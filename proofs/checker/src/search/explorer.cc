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
        beyond_.push_back(id);
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

Explorer::Ends Explorer::all_can_end() {
    std::vector<StateId> last = ends_;
    last.insert(last.end(), beyond_.begin(), beyond_.end());
    if (find_trap(can_reach(last)))
        return Ends::kNo;
    if (beyond_.empty())
        return Ends::kYes;
    const std::vector<bool> can_end = can_reach(ends_);
    bool all = can_end.front() && // the first state may be at the bound already
               std::all_of(expanded_.begin(), expanded_.end(),
                           [&](const auto &state) { return can_end[state.first]; });
    return all ? Ends::kYes : Ends::kUnknown;
}

// The states that follow the one that was expanded so early.
std::span<const StateId> Explorer::following(size_t expanded) const {
    size_t first = expanded_[expanded].second;
    size_t last = expanded + 1 < expanded_.size() ? expanded_[expanded + 1].second : edges_.size();
    return std::span(edges_).subspan(first, last - first);
}

// By state: whether one of the goals can be reached from it.
std::vector<bool> Explorer::can_reach(const std::vector<StateId> &goals) const {
    std::vector<bool> can(states_.size());
    for (StateId goal : goals)
        can[goal] = true;
    for (bool changed = true; changed;) { // most edges lead to later states: a few rounds do
        changed = false;
        for (size_t i = expanded_.size(); i-- > 0;) {
            StateId id = expanded_[i].first;
            auto next = following(i);
            if (can[id] ||
                std::none_of(next.begin(), next.end(), [&](StateId one) { return can[one]; }))
                continue;
            can[id] = true;
            changed = true;
        }
    }
    return can;
}

// The nearest state that is not safe and that no step leaves; else the nearest that is not safe.
bool Explorer::find_trap(const std::vector<bool> &safe) {
    StateId trap = UINT32_MAX;
    bool is_still = false;
    for (size_t i = 0; i < expanded_.size(); i++) {
        StateId id = expanded_[i].first;
        if (safe[id])
            continue;
        auto next = following(i);
        bool still = std::all_of(next.begin(), next.end(), [&](StateId one) { return one == id; });
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
