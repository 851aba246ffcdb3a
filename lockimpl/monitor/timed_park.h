/*
 * Parking for a limited time, and the time itself. A lock that includes this file has READS_TIME in
 * locks.def (LOCK_READS_TIME tells the program). Time is in nanoseconds. Where an engine
 * simulates, it is simulated time, so the outcome is the same each time; elsewhere it is the
 * operating system's clock (docs/interfaces.md, section 4: `clock_mhz`).
 *
 * In a model time does not pass, and a timer may fire at any moment: park_for looks at the permit
 * once, whenever the thread is scheduled next. A thread that finds nothing new and parks again does
 * so without end, with ever more stores, so this is bounded: PARK_FREE_TIMERS timers of each thread
 * fire so, the others only when the word that the thread would look at is no longer what it saw. A
 * timer that fires before that changes nothing but what the free ones have shown.
 */
#ifndef LOCKCROSS_TIMED_PARK_H
#define LOCKCROSS_TIMED_PARK_H

#define LOCK_READS_TIME 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "types.h"

#ifdef PERMITS_MEET
#include "monitor/permits.h"
#endif

#define MILLISECOND UINT64_C(1000000)

/* Takes the permit of `self`, if there is one. */
static inline bool park_take(lock_thread_t *self) {
    if (load_acq_u32(&self->permit) == 0)
        return false;
#ifdef PERMITS_MEET
    permit_take(&self->permit);
#else
    store_rlx_u32(&self->permit, 0);
#endif
    return true;
}

#if defined(LOCKCROSS_MODEL)

#define PARK_FREE_TIMERS 1

extern uint32_t park_timers[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
uint32_t park_timers[LOCK_MAX_THREADS]; /* of each thread that have fired freely */
#endif

static inline bool park_for(lock_thread_t *self, uint64_t nanoseconds,
                            const volatile uint32_t *watched, uint32_t seen) {
    (void)nanoseconds;
    handshake_enter_safe(self);
    bool is_free = park_timers[self->tid - 1] < PARK_FREE_TIMERS;
    while (!is_free && load_rlx_u32(&self->permit) == 0 && load_rlx_u32(watched) == seen)
        prove_wait();
    bool woken = park_take(self);
    park_timers[self->tid - 1] += is_free && !woken;
    handshake_leave_safe(self);
    return woken;
}

#else

#ifdef LOCKCROSS_SCHEDULER

static inline bool park_for(lock_thread_t *self, uint64_t nanoseconds,
                            const volatile uint32_t *watched, uint32_t seen) {
    (void)watched, (void)seen;
    handshake_enter_safe(self);
    bool woken = processor_park_for(self, nanoseconds);
    handshake_leave_safe(self);
    return woken;
}

#else

#define PARK_ALARM (offsetof(lock_thread_t, permit) + sizeof(uint32_t))

/* The word beside the permit: a simulated processor's timer clears it. It is in the same line,
 * which is the one that a parked thread looks at. */
static inline volatile uint32_t *park_alarm(lock_thread_t *self) {
    _Static_assert(PARK_ALARM + sizeof(uint32_t) <= offsetof(lock_thread_t, request),
                   "the permit has no room beside it");
    return (volatile uint32_t *)((char *)self + PARK_ALARM);
}

/* Waits for the permit as park does, at most so long. Whether there was one. A permit that comes
 * later stays for the next park. `watched` is what the thread will look at when its time is over,
 * `seen` what it saw there: for models alone. */
static inline bool park_for(lock_thread_t *self, uint64_t nanoseconds,
                            const volatile uint32_t *watched, uint32_t seen) {
    (void)watched, (void)seen;
    charge(CHARGE_PARK);
    handshake_enter_safe(self);
    lock_await_permit(self, nanoseconds);
    bool woken = park_take(self);
    charge(CHARGE_WAKE);
    handshake_leave_safe(self);
    return woken;
}

#endif
#endif

#endif
