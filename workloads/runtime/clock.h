/*
 * The time, and parking for a limited time, for locks that need it (monitor/timed_park.h). Part of
 * runtime.c. With an engine that listens to markers, time is the simulated cycle of the thread's
 * core, by the key `clock_mhz`, and its timer ends the wait. Without one it is the kernel's clock,
 * which gem5 answers in simulated time; on the host itself the thread sleeps in the kernel.
 */
#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/timed_park.h"
#include "runtime/host.h"
#include "runtime/marker.h"
#include "runtime/runtime.h"
#ifdef LOCKCROSS_SCHEDULER
#include "runtime/scheduler.h"
#endif

#if defined(__x86_64__)
enum { SYS_CLOCK_GETTIME = 228 };
#elif defined(__powerpc64__)
enum { SYS_CLOCK_GETTIME = 246 };
#else
enum { SYS_CLOCK_GETTIME = 113 };
#endif
enum { CLOCK_IS_MONOTONIC = 1 };

extern runtime_key_t clock_keys[];
runtime_key_t clock_keys[] = {
    {"clock_mhz", 1, 1000000, 0, true, 2000},
    RUNTIME_KEYS_END,
};

uint64_t clock_of_kernel(void) {
    struct {
        int64_t seconds, nanoseconds;
    } now = {0, 0};
    runtime_syscall(SYS_CLOCK_GETTIME, CLOCK_IS_MONOTONIC, (long)&now, 0, 0, 0);
    return (uint64_t)now.seconds * 1000000000 + (uint64_t)now.nanoseconds;
}

uint64_t clock_of_cycles(uint64_t cycles) { return cycles * 1000 / clock_keys[0].value; }

#ifdef LOCKCROSS_SCHEDULER

uint64_t lock_clock(lock_thread_t *self) {
    return announce == SYSCALL ? clock_of_cycles(scheduler_clock(self)) : clock_of_kernel();
}

#else

uint64_t lock_clock(lock_thread_t *self) {
    static struct {
        volatile uint64_t cycle; /* written by the engine */
    } __attribute__((aligned(LOCK_LINE))) clocks[LOCK_MAX_THREADS];
    if (announce != SYSCALL)
        return clock_of_kernel();
    volatile uint64_t *cycle = &clocks[runtime_index(self)].cycle;
    runtime_syscall(SYS_MARKER, MARKER_TIMER, runtime_index(self), 0, 0, (long)cycle);
    return clock_of_cycles(*cycle);
}

static void set_alarm(lock_thread_t *self, uint64_t cycles) {
    runtime_syscall(SYS_MARKER, MARKER_TIMER, runtime_index(self), (long)park_alarm(self),
                    (long)cycles, 0);
}

static void await_alarm(lock_thread_t *self, uint64_t nanoseconds) {
    store_rlx_u32(park_alarm(self), 1);
    set_alarm(self, nanoseconds * clock_keys[0].value / 1000 + 1);
    while (load_acq_u32(&self->permit) == 0 && load_rlx_u32(park_alarm(self)) != 0)
        cpu_relax();
    set_alarm(self, 0);
}

void lock_await_permit(lock_thread_t *self, uint64_t nanoseconds) {
    if (announce == SYSCALL) {
        await_alarm(self, nanoseconds);
        return;
    }
    uint64_t now = clock_of_kernel(), end = now + nanoseconds;
    for (; load_acq_u32(&self->permit) == 0 && now < end; now = clock_of_kernel()) {
#ifdef LOCKCROSS_NATIVE
        native_sleep_for(&self->permit, end - now);
#else
        cpu_relax();
#endif
    }
}

#endif

#endif
