#include "search/uncovered.h"

#include <algorithm>

namespace prove {

bool Uncovered::has_cover_of(const Words &state) const {
    auto place = places_.find(machine_.place(state));
    return place != places_.end() && std::ranges::any_of(place->second, [&](StateId kept) {
               return machine_.is_cover(words_.at(kept), state);
           });
}

void Uncovered::keep(StateId id, const Words &state) {
    std::vector<StateId> &place = places_[machine_.place(state)];
    std::erase_if(place, [&](StateId kept) {
        if (!machine_.is_cover(state, words_.at(kept)))
            return false;
        words_.erase(kept);
        return true;
    });
    place.push_back(id);
    words_.emplace(id, state);
}

const Uncovered::Words *Uncovered::find(StateId id) const {
    auto found = words_.find(id);
    return found == words_.end() ? nullptr : &found->second;
}

} // namespace prove
