// Explores a client under a model: all its states, or random runs.
#pragma once

#include "models/machine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prove {

struct SearchOptions {
    Model model = Model::kSc;
    Bounds bounds;
    uint64_t most_states = UINT32_MAX - 1;
    double most_seconds = 0; // of processor time; 0: no bound
    uint64_t random_runs = 0;
    uint64_t seed = 1;
    uint64_t at_once = 3'000'000; // states to go through before a look ahead
    bool depth_first = false;
    bool subsumption = true; // states that another covers are left out
    bool liveness = true;
};

struct SearchResult {
    std::optional<Failure> failure;
    std::vector<Row> trace;
    std::string bound; // the bound that was reached, if any
    uint64_t states = 0, transitions = 0;
    uint64_t executions = 0; // different last states; runs, if random
    uint64_t restarts = 0;   // since the layout of memory was found to be another
    uint64_t nodes = 0;
    uint64_t beyond = 0; // states beyond the client's own bound
    bool buffer_was_full = false;
};

// Processor time of this process.
double processor_seconds();

class Search {
  public:
    Search(Native &native, unsigned threads, const SearchOptions &options);
    SearchResult run();

  private:
    enum class Outcome { kDone, kFailed, kBound, kLayoutChanged, kMustLookAhead };

    void learn_layout();
    Outcome explore();
    // All states; or, where a look ahead leaves more out, so many at least.
    Outcome explore_once(uint64_t states);
    Outcome wander();
    // A random run; the choices made, without those that change nothing. kDone: it ended. kBound:
    // it went on for too long, or nothing changed for long.
    Outcome wander_once(uint64_t &random, std::vector<Choice> &path);
    // A run that has not ended: whether it still can.
    Outcome look_around(std::vector<Choice> &path);
    void note_failure(const std::vector<Choice> &path);
    void replay(const std::vector<Choice> &path);
    void note_trap(const std::vector<Choice> &path);

    const unsigned threads_;
    const SearchOptions options_;
    Program program_;
    std::unique_ptr<Machine> machine_;
    SearchResult result_;
    bool has_looked_ahead_ = false;
    uint64_t random_ = 0; // of the runs that only find out what the client does
};

} // namespace prove
