#include "region/one_thread.h"

#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lockcross {

#if LOCKCROSS_HAS_CONTEXTS

namespace {

#ifdef __x86_64__
// The kernel says so, since it has to save what programs set.
bool may_set_thread_pointer() {
    constexpr unsigned long kFsgsbase = 1 << 1;
    return getauxval(AT_HWCAP2) & kFsgsbase;
}

void change(lockcross_context *from, const lockcross_context *to) {
    static const bool alone = may_set_thread_pointer();
    (alone ? lockcross_switch : lockcross_switch_by_kernel)(from, to);
}

// With it every return must go where the call came from, on the same stack.
bool has_shadow_stack() {
    constexpr long kStatus = 0x5005; // ARCH_SHSTK_STATUS
    unsigned long features = 0;
    return syscall(SYS_arch_prctl, kStatus, &features) == 0 && features & 1;
}
#else
void change(lockcross_context *from, const lockcross_context *to) { lockcross_switch(from, to); }

bool has_shadow_stack() {
    constexpr int kStatus = 74; // PR_GET_SHADOW_STACK_STATUS
    unsigned long features = 0;
    return prctl(kStatus, &features, 0, 0, 0) == 0 && features & 1;
}
#endif

} // namespace

bool OneThread::possible() { return !has_shadow_stack(); }

OneThread::OneThread(uint32_t cores) : cores_(cores), homes_(std::make_unique<Home[]>(cores)) {}

void OneThread::sleep(lockcross_context *home) {
    Home &mine = *static_cast<Home *>(home);
    OneThread &threads = *mine.threads;
    if (threads.saved_.fetch_add(1, std::memory_order_acq_rel) + 2 == threads.cores_)
        threads.all_saved_.wake();
    mine.over.sleep();
}

void OneThread::enter(uint32_t core, uint32_t first) {
    Home &mine = homes_[core];
    mine.thread_pointer = __builtin_thread_pointer();
    mine.threads = this;
    if (core == first) {
        runner_ = core;
        if (cores_ > 1)
            all_saved_.sleep();
        return;
    }
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mine.signals);
    lockcross_call_on(&mine, mine.stack_of_sleep + sizeof mine.stack_of_sleep, sleep);
}

void OneThread::switch_to(uint32_t core, uint32_t next) { change(&homes_[core], &homes_[next]); }

void OneThread::leave(uint32_t core, uint32_t next) {
    switch_to(core, next);
    // The region is over, and this is the core's own host thread.
    if (core != runner_)
        pthread_sigmask(SIG_SETMASK, &homes_[core].signals, nullptr);
    else if (going_home_ != kNobody)
        homes_[going_home_].over.wake();
}

void OneThread::leave_last(uint32_t core) {
    for (uint32_t other = 0; other < cores_; other++) {
        if (other != core && other != runner_)
            homes_[other].over.wake();
    }
    if (core == runner_)
        return;
    going_home_ = core; // not before it is saved
    leave(core, runner_);
}

#endif

} // namespace lockcross
