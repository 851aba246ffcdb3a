// The states that have been seen, by their hashes, and how each was first come to.
#pragma once

#include "client/hash.h"
#include "models/machine.h"

#include <cstdint>
#include <vector>

namespace prove {

using StateId = uint32_t;

class States {
  public:
    States() { clear(); }
    void clear();

    // The state's number; whether it is new.
    std::pair<StateId, bool> add(const Hash &hash, StateId from, Choice by);
    size_t size() const { return steps_.size(); }
    // The choices that lead from the first state to this one.
    std::vector<Choice> path(StateId state) const;

  private:
    struct Step {
        StateId from;
        Choice by;
    };
    static constexpr StateId kFree = UINT32_MAX;
    void grow();

    std::vector<Step> steps_;
    std::vector<Hash> slots_;
    std::vector<StateId> ids_;
};

} // namespace prove
