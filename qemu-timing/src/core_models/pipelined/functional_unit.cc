#include "core_models/pipelined/functional_unit.h"

#include <algorithm>

namespace lockcross {

Cycle FunctionalUnit::free_at(Cycle earliest) const {
    Cycle free = earliest;
    for (const Passage &passage : passages_) {
        if (free >= passage.end && free < passage.left)
            free = passage.left;
        free = std::max(free, passage.issued + interval_);
    }
    return free;
}

Cycle FunctionalUnit::issue(Cycle cycle) {
    std::erase_if(passages_, [&](const Passage &passage) {
        return passage.left <= cycle && passage.issued + interval_ <= cycle;
    });
    Cycle end = cycle + depth_;
    for (const Passage &passage : passages_) {
        Cycle from = std::max(passage.end, cycle);
        end += passage.left > from ? passage.left - from : 0;
    }
    passages_.push_back({cycle, end, end});
    return end;
}

} // namespace lockcross
