#include "search/states.h"

#include <algorithm>

namespace prove {

void States::clear() {
    constexpr size_t kFirst = 1 << 12;
    steps_.clear();
    slots_.assign(kFirst, {});
    ids_.assign(kFirst, kFree);
}

std::pair<StateId, bool> States::add(const Hash &hash, StateId from, Choice by) {
    if ((steps_.size() + 1) * 3 > slots_.size() * 2)
        grow();
    size_t mask = slots_.size() - 1;
    for (size_t at = hash.low & mask;; at = (at + 1) & mask) {
        if (ids_[at] == kFree) {
            auto id = static_cast<StateId>(steps_.size());
            slots_[at] = hash;
            ids_[at] = id;
            steps_.push_back({from, by});
            return {id, true};
        }
        if (slots_[at] == hash)
            return {ids_[at], false};
    }
}

void States::grow() {
    std::vector<Hash> slots(slots_.size() * 2);
    std::vector<StateId> ids(slots.size(), kFree);
    size_t mask = slots.size() - 1;
    for (size_t i = 0; i < slots_.size(); i++) {
        if (ids_[i] == kFree)
            continue;
        size_t at = slots_[i].low & mask;
        while (ids[at] != kFree)
            at = (at + 1) & mask;
        slots[at] = slots_[i];
        ids[at] = ids_[i];
    }
    slots_.swap(slots);
    ids_.swap(ids);
}

std::vector<Choice> States::path(StateId state) const {
    std::vector<Choice> path;
    for (; state != 0; state = steps_[state].from)
        path.push_back(steps_[state].by);
    std::reverse(path.begin(), path.end());
    return path;
}

} // namespace prove
