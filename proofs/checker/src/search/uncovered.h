// The states of a machine that no other covers.
#pragma once

#include "client/hash.h"
#include "models/machine.h"
#include "search/states.h"

#include <unordered_map>
#include <vector>

namespace prove {

class Uncovered {
  public:
    using Words = std::vector<uint64_t>;

    // Without subsumption all states are kept.
    Uncovered(const Machine &machine, bool subsumption)
        : machine_(machine), subsumption_(subsumption) {}

    // Whether a state that is kept covers this one.
    bool has_cover_of(const Words &state) const;
    // Keeps a state that none covers, and drops those that it covers.
    void keep(StateId id, const Words &state);
    // A state that was kept; null when another covers it by now.
    const Words *find(StateId id) const;

    template <typename Visit> void each(Visit visit) const {
        for (const auto &[id, words] : words_)
            visit(id, words);
    }

  private:
    struct HashOfHash {
        size_t operator()(const Hash &hash) const { return hash.low; }
    };

    const Machine &machine_;
    const bool subsumption_;
    std::unordered_map<Hash, std::vector<StateId>, HashOfHash> classes_;
    std::unordered_map<StateId, Words> words_;
};

} // namespace prove
