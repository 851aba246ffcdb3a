// Which states follow which, and from which an end can be reached.
#pragma once

#include "search/states.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace prove {

class Graph {
  public:
    // A state whose followers come next.
    void begin(StateId state) {
        states_.emplace_back(state, static_cast<uint32_t>(followers_.size()));
    }
    void add(StateId follower) { followers_.push_back(follower); }
    void clear() {
        states_.clear();
        followers_.clear();
    }
    uint64_t edges() const { return followers_.size(); }

    // By state, of so many: whether one of the goals can be reached from it.
    std::vector<bool> can_reach(const std::vector<StateId> &goals, size_t states) const;
    // The nearest state that is not safe and that no step leaves; else the nearest that is not
    // safe; UINT32_MAX if all are.
    StateId find_trap(const std::vector<bool> &safe) const;
    // Whether all states that have followers are safe.
    bool are_all(const std::vector<bool> &safe) const;

  private:
    std::span<const StateId> following(size_t begun) const;

    // In the order in which they were begun: a state and where its followers begin.
    std::vector<std::pair<StateId, uint32_t>> states_;
    std::vector<StateId> followers_;
};

} // namespace prove
