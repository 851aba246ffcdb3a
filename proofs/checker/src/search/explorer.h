// Goes through all states, nearest first, so that the first failure found has the fewest steps; or
// newest first, which needs less memory.
#pragma once

#include "models/machine.h"
#include "search/graph.h"
#include "search/states.h"
#include "search/uncovered.h"

#include <deque>
#include <utility>
#include <vector>

namespace prove {

class Explorer {
  public:
    enum class Found { kNothing, kFailure, kLayoutChanged };

    // newest_first: the state to expand next; subsumption: states that another covers are left out.
    Explorer(Machine &machine, const Program &program, bool newest_first, bool subsumption)
        : machine_(machine), program_(program), newest_first_(newest_first),
          uncovered_(machine, subsumption) {}

    // From the machine's first state.
    Found begin();
    // From the state that the machine is in.
    Found begin_here();
    bool done() const { return open_.empty(); }
    // Expands one state.
    Found expand();
    // With all states expanded: whether an end can be reached from each; where states cover one
    // another, even if every thread sees at once what is stored. kNo: path() leads to a state from
    // which none can, so some thread waits for ever there. kUnknown: from some state nothing but
    // the client's own bound can, and nobody knows what lies behind that.
    enum class Ends { kYes, kNo, kUnknown };
    Ends all_can_end();

    // The choices to the failure, or to the trap.
    const std::vector<Choice> &path() const { return path_; }
    uint64_t states() const { return states_.size(); }
    uint64_t transitions() const { return transitions_; }
    uint64_t ends() const { return ends_.size(); }
    uint64_t beyond() const { return beyond_.size(); }
    bool comes_to_an_end() const { return !ends_.empty() || !beyond_.empty(); }

  private:
    Found arrive(StateId from, Choice by);
    Found broken(StateId from, Choice by);
    // Goes through the states that those of each class cover, where all threads see everything.
    // `nearest`: by such a state, the nearest that leads there.
    void go_through_classes(Graph &graph, std::vector<StateId> &nearest, std::vector<StateId> &ends,
                            std::vector<StateId> &beyond);

    Machine &machine_;
    const Program &program_;
    const bool newest_first_;
    States states_;
    std::deque<std::pair<StateId, std::vector<uint64_t>>> open_; // its words, unless it is kept
    Uncovered uncovered_;                                        // where states cover one another
    std::vector<StateId> ends_;                                  // all threads have ended
    std::vector<StateId> beyond_; // a thread is beyond the client's own bound
    Graph graph_;                 // where they do not cover one another
    uint64_t transitions_ = 0;
    std::vector<Choice> path_, choices_;
    std::vector<uint64_t> words_;
};

} // namespace prove
