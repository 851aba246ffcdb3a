#include "region/spin_loop.h"

#include "base/registers.h"

#include <algorithm>

namespace lockcross {

void SpinLoop::begin_block(const Block &block) {
    if (!now_.empty() && now_.front().block == &block) {
        repeats_ = now_ == before_ && only_waits();
        now_.swap(before_);
        now_.clear();
    }
    now_.push_back({&block});
    if (now_.size() > kLongest)
        forget();
}

bool SpinLoop::only_waits() const {
    RegisterSet written = 0, from_outside = 0;
    int loads = 0;
    for (const Step &step : now_) {
        loads += step.size != 0;
        if (!step.block)
            continue;
        for (const Schedule::RegisterTime &use : step.block->schedule.first_use)
            from_outside |= register_bit(use.reg) & ~written;
        written |= step.block->schedule.written;
    }
    return loads == 1 && (from_outside & written) == 0;
}

bool SpinLoop::repeats_at(const TimedInsn &load) const {
    return repeats_ && now_.size() < before_.size() && before_[now_.size()].insn == &load &&
           std::equal(now_.begin(), now_.end(), before_.begin());
}

std::vector<SpinLoop::Step> SpinLoop::iteration() const {
    std::vector<Step> steps = before_;
    std::rotate(steps.begin(), steps.begin() + ptrdiff_t(now_.size()), steps.end());
    return steps;
}

} // namespace lockcross
