#include "search/uncovered.h"

#include <algorithm>

namespace prove {

bool Uncovered::has_cover_of(const Words &state) const {
    if (!subsumption_)
        return false;
    auto same_class = classes_.find(machine_.subsumption_class(state));
    return same_class != classes_.end() &&
           std::ranges::any_of(same_class->second, [&](StateId kept) {
               return machine_.covers(words_.at(kept), state);
           });
}

void Uncovered::keep(StateId id, const Words &state) {
    if (subsumption_) {
        std::vector<StateId> &same_class = classes_[machine_.subsumption_class(state)];
        std::erase_if(same_class, [&](StateId kept) {
            if (!machine_.covers(state, words_.at(kept)))
                return false;
            words_.erase(kept);
            return true;
        });
        same_class.push_back(id);
    }
    words_.emplace(id, state);
}

const Uncovered::Words *Uncovered::find(StateId id) const {
    auto found = words_.find(id);
    return found == words_.end() ? nullptr : &found->second;
}

} // namespace prove
