#include "search/search.h"

#include "client/random.h"
#include "search/explorer.h"

#include <algorithm>
#include <ctime>

namespace prove {

Search::Search(Native &native, unsigned threads, const SearchOptions &options)
    : threads_(threads), options_(options), program_(native),
      machine_(make_machine(options.model, program_, threads, options.bounds)) {}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

SearchResult Search::run() {
    try {
        learn_layout();
        program_.settle_layout();
        while ((options_.random_runs ? wander() : explore()) == Outcome::kLayoutChanged) {
            program_.settle_layout();
            result_.restarts++;
        }
    } catch (const TooLarge &bound) {
        result_.bound = bound.what;
    }
    result_.nodes = program_.nodes();
    result_.buffer_was_full = machine_->buffer_was_full();
    return result_;
}

// Random runs and short explorations find nearly all memory that is used, so that the long one
// seldom begins anew.
void Search::learn_layout() {
    constexpr unsigned kRuns = 64;
    std::vector<Choice> path;
    for (unsigned i = 0; i < kRuns; i++) {
        if (program_.layout_changed())
            program_.settle_layout();
        wander_once(random_, path);
    }
    for (uint64_t states = 1000; states <= 16'000;) {
        program_.settle_layout();
        Explorer explorer(*machine_, program_, true, options_.subsumption);
        Explorer::Found found = explorer.begin();
        while (found == Explorer::Found::kNothing && !explorer.done() && explorer.states() < states)
            found = explorer.expand();
        if (found != Explorer::Found::kLayoutChanged)
            states *= 4;
    }
}

Search::Outcome Search::wander_once(uint64_t &random, std::vector<Choice> &path) {
    constexpr unsigned kMostSteps = 2000, kMostIdle = 50;
    std::vector<Choice> choices;
    std::vector<uint64_t> before, after;
    path.clear();
    machine_->begin();
    unsigned idle = 0;
    while (!machine_->broken()) {
        machine_->choices(choices);
        if (machine_->beyond() || choices.empty() || path.size() >= kMostSteps || idle >= kMostIdle)
            break;
        machine_->save(before);
        path.push_back(choices[next_random(random) % choices.size()]);
        machine_->take(path.back());
        if (machine_->broken())
            break;
        machine_->save(after);
        idle = before == after ? idle + 1 : 0;
        if (idle > 0)
            path.pop_back();
    }
    if (program_.layout_changed())
        return Outcome::kLayoutChanged;
    if (machine_->failure())
        return Outcome::kFailed;
    if (machine_->beyond())
        result_.beyond++;
    if (!machine_->ended())
        return Outcome::kBound;
    machine_->check_end();
    return machine_->failure() ? Outcome::kFailed : Outcome::kDone;
}

Search::Outcome Search::look_around(std::vector<Choice> &path) {
    constexpr uint64_t kMostStates = 20'000;
    Explorer explorer(*machine_, program_, true, options_.subsumption);
    Explorer::Found found = explorer.begin_here();
    while (found == Explorer::Found::kNothing && !explorer.done() && !explorer.comes_to_an_end() &&
           explorer.states() < kMostStates)
        found = explorer.expand();
    if (found == Explorer::Found::kLayoutChanged)
        return Outcome::kLayoutChanged;
    if (found == Explorer::Found::kFailure) {
        path.insert(path.end(), explorer.path().begin(), explorer.path().end());
        note_failure(path);
        return Outcome::kFailed;
    }
    if (!explorer.done() || explorer.comes_to_an_end())
        return Outcome::kBound;
    note_trap(path);
    return Outcome::kFailed;
}

Search::Outcome Search::wander() {
    uint64_t random = options_.seed;
    std::vector<Choice> path;
    result_.executions = 0;
    result_.transitions = 0;
    while (result_.executions < options_.random_runs) {
        if (options_.most_seconds > 0 && processor_seconds() > options_.most_seconds) {
            result_.bound = "seconds";
            return Outcome::kBound;
        }
        Outcome outcome = wander_once(random, path);
        result_.transitions += path.size();
        if (outcome == Outcome::kLayoutChanged)
            return outcome;
        result_.executions++;
        if (outcome == Outcome::kFailed) {
            note_failure(path);
            return outcome;
        }
        if (outcome == Outcome::kBound && !machine_->beyond() && options_.liveness)
            outcome = look_around(path);
        if (outcome == Outcome::kLayoutChanged || outcome == Outcome::kFailed)
            return outcome;
    }
    result_.bound = "runs";
    return Outcome::kBound;
}

// Small programs are gone through at once. Of larger ones a part is, and random runs are made, to
// know what lies ahead of each node; then again more, until nothing is found out that was not
// known.
Search::Outcome Search::explore() {
    if (has_looked_ahead_) // by another layout
        machine_->look_ahead();
    for (uint64_t states = options_.at_once;; states = std::max<uint64_t>(4 * states, 1000)) {
        Outcome outcome = explore_once(states);
        if (outcome != Outcome::kMustLookAhead)
            return outcome;
        has_looked_ahead_ = true;
        std::vector<Choice> path;
        for (uint64_t runs = states / 64; runs > 0; runs--) {
            if (wander_once(random_, path) == Outcome::kLayoutChanged)
                return Outcome::kLayoutChanged;
        }
        machine_->look_ahead();
    }
}

Search::Outcome Search::explore_once(uint64_t states) {
    Explorer explorer(*machine_, program_, options_.depth_first, options_.subsumption);
    Explorer::Found found = explorer.begin();
    for (uint64_t i = 0; found == Explorer::Found::kNothing && !explorer.done(); i++) {
        if (explorer.states() > options_.most_states)
            result_.bound = "states";
        if (options_.most_seconds > 0 && i % 1024 == 0 &&
            processor_seconds() > options_.most_seconds)
            result_.bound = "seconds";
        if (!result_.bound.empty())
            break;
        if (explorer.states() > states) {
            if (machine_->should_look_ahead())
                return Outcome::kMustLookAhead;
            states *= 2;
        }
        found = explorer.expand();
    }
    result_.states = explorer.states();
    result_.transitions = explorer.transitions();
    result_.executions = explorer.ends();
    result_.beyond = explorer.beyond();
    if (found == Explorer::Found::kLayoutChanged)
        return Outcome::kLayoutChanged;
    if (machine_->looked_wrong() && result_.bound.empty())
        return Outcome::kMustLookAhead;
    if (found == Explorer::Found::kFailure) {
        note_failure(explorer.path());
        return Outcome::kFailed;
    }
    if (!result_.bound.empty())
        return Outcome::kBound;
    if (!options_.liveness)
        return Outcome::kDone;
    switch (explorer.all_can_end()) {
    case Explorer::Ends::kYes:
        return Outcome::kDone;
    case Explorer::Ends::kNo:
        note_trap(explorer.path());
        return Outcome::kFailed;
    case Explorer::Ends::kUnknown:
        result_.bound = "the client's own";
        return Outcome::kBound;
    }
    return Outcome::kBound;
}

void Search::replay(const std::vector<Choice> &path) {
    result_.trace.clear();
    machine_->trace_to(&result_.trace);
    machine_->begin();
    for (Choice choice : path)
        machine_->take(choice);
    machine_->trace_to(nullptr);
}

void Search::note_failure(const std::vector<Choice> &path) {
    result_.failure = *machine_->failure();
    replay(path);
}

// A state from which no end can be reached: says where the threads stand.
void Search::note_trap(const std::vector<Choice> &path) {
    replay(path);
    Failure failure{"deadlock", "threads wait for ever", 0};
    for (unsigned t = threads_; t-- > 0;) {
        const Operation &op = program_.node(machine_->node(t)).op;
        if (op.kind == Kind::kEnd)
            continue;
        failure.thread = t;
        Row row;
        row.thread = t;
        row.op = op;
        row.waits = true;
        result_.trace.push_back(row);
    }
    result_.failure = failure;
}

} // namespace prove
