// Goes through all states, nearest first, so that the first failure found has the fewest steps; or
// newest first, which needs less memory.
#pragma once

#include "models/machine.h"
#include "search/states.h"

#include <deque>
#include <span>
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
    // With all states expanded: whether an end can be reached from each. kNo: path() leads to a
    // state from which none can, so some thread waits for ever there. kUnknown: from some state
    // nothing but the client's own bound can, and nobody knows what lies behind that.
    enum class Ends { kYes, kNo, kUnknown };
    Ends all_can_end();

    // The choices to the failure, or to the trap.
    const std::vector<Choice> &path() const { return path_; }
    uint64_t states() const { return states_.size(); }
    uint64_t transitions() const { return edges_.size(); }
    uint64_t ends() const { return ends_.size(); }
    uint64_t beyond() const { return beyond_.size(); }
    bool comes_to_an_end() const { return !ends_.empty() || !beyond_.empty(); }

  private:
    Found arrive(StateId from, Choice by);
    Found broken(StateId from, Choice by);
    std::span<const StateId> following(size_t expanded) const;
    std::vector<bool> can_reach(const std::vector<StateId> &goals) const;
    bool find_trap(const std::vector<bool> &safe);

    Machine &machine_;
    const Program &program_;
    const bool newest_first_;
    States states_;
    std::deque<std::pair<StateId, std::vector<uint64_t>>> open_;
    std::vector<StateId> ends_;   // all threads have ended
    std::vector<StateId> beyond_; // a thread is beyond the client's own bound
    // In the order in which they were expanded: a state and where the states that follow it begin.
    std::vector<std::pair<StateId, uint32_t>> expanded_;
    std::vector<StateId> edges_;
    std::vector<Choice> path_, choices_;
    std::vector<uint64_t> words_;
};

} // namespace prove
