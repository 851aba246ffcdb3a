#include "search/explorer.h"

#include <algorithm>

namespace prove {

Explorer::Found Explorer::begin() {
    machine_.begin();
    return machine_.broken() ? broken(0, {}) : begin_here();
}

Explorer::Found Explorer::begin_here() {
    Found found = arrive(0, {});
    graph_.clear();
    transitions_ = 0;
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
    transitions_++;
    machine_.save(words_);
    const bool has_subsumption = machine_.has_subsumption();
    if (has_subsumption && uncovered_.has_cover_of(words_))
        return Found::kNothing;
    auto [id, is_new] = states_.add(hash_words(words_.data(), words_.size()), from, by);
    if (has_subsumption)
        uncovered_.keep(id, words_);
    else
        graph_.add(id);
    if (!is_new)
        return Found::kNothing;
    if (machine_.beyond()) {
        beyond_.push_back(id);
        return Found::kNothing;
    }
    if (!machine_.ended()) {
        open_.emplace_back(id, has_subsumption ? std::vector<uint64_t>() : words_);
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
    if (machine_.has_subsumption()) {
        const Uncovered::Words *kept = uncovered_.find(id);
        if (!kept)
            return Found::kNothing;
        state = *kept; // which may go while it is expanded
    } else {
        graph_.begin(id);
    }
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
    Graph of_classes;
    std::vector<StateId> nearest, ends = ends_, beyond = beyond_;
    const Graph &graph = machine_.has_subsumption() ? of_classes : graph_;
    size_t states = states_.size();
    if (machine_.has_subsumption()) {
        go_through_classes(of_classes, nearest, ends, beyond);
        states = nearest.size();
    }
    std::vector<StateId> last = ends;
    last.insert(last.end(), beyond.begin(), beyond.end());
    if (StateId trap = graph.find_trap(graph.can_reach(last, states)); trap != UINT32_MAX) {
        path_ = states_.path(machine_.has_subsumption() ? nearest[trap] : trap);
        return Ends::kNo;
    }
    if (beyond.empty())
        return Ends::kYes;
    const std::vector<bool> can_end = graph.can_reach(ends, states);
    bool all = can_end.front() && // the first state may be at the bound already
               graph.are_all(can_end);
    return all ? Ends::kYes : Ends::kUnknown;
}

// Whatever can happen from the state where all threads see everything can happen from each that
// covers it. So where no end can be reached from the one, the others reach none but by a load that
// finds an old store, and that nobody may count on.
void Explorer::go_through_classes(Graph &graph, std::vector<StateId> &nearest,
                                  std::vector<StateId> &ends, std::vector<StateId> &beyond) {
    States known;
    std::vector<std::vector<uint64_t>> words;
    ends.clear();
    beyond.clear();
    auto come_to = [&](StateId from) {
        machine_.see_all();
        machine_.save(words_);
        auto [id, is_new] = known.add(hash_words(words_.data(), words_.size()), 0, {});
        if (is_new) {
            words.push_back(words_);
            nearest.push_back(from);
        }
        nearest[id] = std::min(nearest[id], from);
        return id;
    };
    uncovered_.each([&](StateId id, const Uncovered::Words &state) {
        machine_.load(state.data(), state.size());
        come_to(id);
    });
    for (StateId id = 0; id < words.size(); id++) {
        const std::vector<uint64_t> state = words[id]; // more are added meanwhile
        machine_.load(state.data(), state.size());
        if (machine_.beyond()) {
            beyond.push_back(id);
            continue;
        }
        if (machine_.ended()) {
            ends.push_back(id);
            continue;
        }
        graph.begin(id);
        machine_.choices(choices_);
        for (Choice choice : choices_) {
            machine_.load(state.data(), state.size());
            machine_.take(choice);
            if (!machine_.broken())
                graph.add(come_to(nearest[id]));
        }
    }
}

} // namespace prove
