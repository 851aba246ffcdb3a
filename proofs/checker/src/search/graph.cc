#include "search/graph.h"

#include <algorithm>

namespace prove {

std::span<const StateId> Graph::following(size_t begun) const {
    size_t first = states_[begun].second;
    size_t last = begun + 1 < states_.size() ? states_[begun + 1].second : followers_.size();
    return std::span(followers_).subspan(first, last - first);
}

std::vector<bool> Graph::can_reach(const std::vector<StateId> &goals, size_t states) const {
    std::vector<bool> can(states);
    for (StateId goal : goals)
        can[goal] = true;
    for (bool changed = true; changed;) { // most edges lead to later states: a few rounds do
        changed = false;
        for (size_t i = states_.size(); i-- > 0;) {
            StateId id = states_[i].first;
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

StateId Graph::find_trap(const std::vector<bool> &safe) const {
    StateId trap = UINT32_MAX;
    bool is_still = false;
    for (size_t i = 0; i < states_.size(); i++) {
        StateId id = states_[i].first;
        if (safe[id])
            continue;
        auto next = following(i);
        bool still = std::all_of(next.begin(), next.end(), [&](StateId one) { return one == id; });
        if (still > is_still || (still == is_still && id < trap)) {
            trap = id;
            is_still = still;
        }
    }
    return trap;
}

bool Graph::are_all(const std::vector<bool> &safe) const {
    return std::ranges::all_of(states_, [&](const auto &state) { return safe[state.first]; });
}

} // namespace prove
