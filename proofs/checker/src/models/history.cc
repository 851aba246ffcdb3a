#include "models/history.h"

namespace prove {

unsigned History::last_to(unsigned unit, size_t timestamp) const {
    while (!messages[timestamp].units.has(unit))
        timestamp--;
    return static_cast<unsigned>(timestamp);
}

unsigned History::youngest(const View &view, UnitSet some) const {
    unsigned result = 0;
    for (unsigned u : some)
        result = std::max<unsigned>(result, view.timestamps()[slot(u)]);
    return result;
}

bool History::may_insert(UnitSet some, size_t timestamp) const {
    for (size_t i = timestamp; i < messages.size() && !some.empty(); i++) {
        if (messages[i].adjacent.meets(some))
            return false;
        some = some.without(messages[i].units);
    }
    return true;
}

unsigned History::count_from(unsigned unit, size_t timestamp) const {
    auto first = messages.begin() + static_cast<std::ptrdiff_t>(timestamp);
    return static_cast<unsigned>(std::count_if(
        first, messages.end(), [&](const Message &message) { return message.units.has(unit); }));
}

} // namespace prove
