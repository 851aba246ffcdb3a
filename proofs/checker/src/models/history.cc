#include "models/history.h"

namespace prove {

unsigned History::last_to(unsigned unit, size_t position) const {
    while (!stores[position].units.has(unit))
        position--;
    return static_cast<unsigned>(position);
}

unsigned History::youngest(const View &view, UnitSet some) const {
    unsigned result = 0;
    for (unsigned u : some)
        result = std::max<unsigned>(result, view.positions()[slot(u)]);
    return result;
}

bool History::may_insert(UnitSet some, size_t position) const {
    for (size_t i = position; i < stores.size() && !some.empty(); i++) {
        if (stores[i].adjacent.meets(some))
            return false;
        some = some.without(stores[i].units);
    }
    return true;
}

unsigned History::count_from(unsigned unit, size_t position) const {
    auto first = stores.begin() + static_cast<std::ptrdiff_t>(position);
    return static_cast<unsigned>(std::count_if(
        first, stores.end(), [&](const Store &store) { return store.units.has(unit); }));
}

} // namespace prove
