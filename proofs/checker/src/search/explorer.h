// Goes through all states, nearest first, so that the first failure found has the fewest steps; or
// newest first, which needs less memory.
#pragma once

#include "models/machine.h"
#include "search/states.h"

#include <deque>
#include <utility>
#include <vector>

namespace prove {

class Explorer {
  public:
    enum class Found { kNothing, kFailure, kLayoutChanged };

    Explorer(Machine &machine, const Program &program, bool newest_first)
        : machine_(machine), program_(program), newest_first_(newest_first) {}

    // From the machine's first state.
    Found begin();
    // From the state that the machine is in.
    Found begin_here();
    bool done() const { return open_.empty(); }
    // Expands one state.
    Found expand();
    // With all states expanded: a state from which no end can be reached, if there is one. There
    // some thread waits for ever.
    bool find_trap();

    // The choices to the failure, or to the trap.
    const std::vector<Choice> &path() const { return path_; }
    uint64_t states() const { return states_.size(); }
    uint64_t transitions() const { return edges_.size(); }
    uint64_t ends() const { return ends_.size() - beyond_; }
    uint64_t beyond() const { return beyond_; }
    bool comes_to_an_end() const { return !ends_.empty(); }

  private:
    Found arrive(StateId from, Choice by);
    Found broken(StateId from, Choice by);

    Machine &machine_;
    const Program &program_;
    const bool newest_first_;
    States states_;
    std::deque<std::pair<StateId, std::vector<uint64_t>>> open_;
    std::vector<StateId> ends_; // all threads have ended, or a thread is beyond its bound
    uint64_t beyond_ = 0;
    // In the order in which they were expanded: a state and where the states that follow it begin.
    std::vector<std::pair<StateId, uint32_t>> expanded_;
    std::vector<StateId> edges_;
    std::vector<Choice> path_, choices_;
    std::vector<uint64_t> words_;
};

} // namespace prove
