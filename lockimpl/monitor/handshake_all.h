/*
 * A handshake with all other threads at once, as HotSpot's safepoint is one (biased.h). Each is
 * stopped as handshake.h stops one: it is SAFE, and stays so until it is resumed.
 *
 * A thread that is SAFE may still be a requester, and act for a thread that it has stopped. So the
 * requester of all becomes the only one who may ask any thread, itself included, before it asks:
 * then nobody acts but itself. Two such requesters ask the threads in the same order, so one of
 * them has them all.
 *
 * A program's threads all count, whether they have begun or have ended; the requester pays for one
 * stop, since it waits for all of them together: that of a thread that runs if any does, else of
 * one that waits.
 */
#ifndef LOCKCROSS_HANDSHAKE_ALL_H
#define LOCKCROSS_HANDSHAKE_ALL_H

#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "types.h"

#if !defined(LOCKCROSS_MODEL)
/* The state, of the first `count` threads but `self`, in which a thread is dearest to stop. */
static inline uint32_t handshake_dearest(const lock_thread_t *self, uint32_t count) {
    uint32_t dearest = HANDSHAKE_ENDED;
    for (const lock_thread_t *thread = lock_threads; thread != &lock_threads[count]; thread++) {
        uint32_t state = load_rlx_u32(&thread->state);
        if (thread != self && state < dearest)
            dearest = state;
    }
    return dearest;
}
#endif

/* Waits until the first `count` threads but `self` are SAFE and do not act for each other, and
 * keeps them so until handshake_resume_all. `self` is one of them. */
static inline void handshake_stop_all(lock_thread_t *self, uint32_t count) {
    handshake_enter_safe(self);
    for (lock_thread_t *thread = lock_threads; thread != &lock_threads[count]; thread++) {
        while (!cas_acq_u32(&thread->requester, 0, self->tid))
            cpu_relax();
    }
    HANDSHAKE_CHARGE(handshake_dearest(self, count));
    for (lock_thread_t *thread = lock_threads; thread != &lock_threads[count]; thread++) {
        if (thread != self)
            store_then_fence_u32(&thread->request, 1);
    }
    for (lock_thread_t *thread = lock_threads; thread != &lock_threads[count]; thread++) {
        while (HANDSHAKE_IS_RUNNING(load_acq_u32(&thread->state)))
            cpu_relax();
    }
}

/* Ends what handshake_stop_all began. */
static inline void handshake_resume_all(lock_thread_t *self, uint32_t count) {
    for (lock_thread_t *thread = lock_threads; thread != &lock_threads[count]; thread++) {
        if (thread != self)
            store_rel_u32(&thread->request, 0);
        store_rel_u32(&thread->requester, 0);
    }
    handshake_leave_safe(self);
}

#endif
