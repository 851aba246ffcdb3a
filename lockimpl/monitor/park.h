/*
 * Parking: a thread suspends itself until another wakes it. A simulator has no kernel to sleep in,
 * so the thread spins on a line of its own and the cost is charged (docs/interfaces.md, section 5).
 * On the host itself (LOCKCROSS_NATIVE) it sleeps in the kernel, and nothing is charged. Where
 * threads share processors the thread is switched out instead, and the switch is charged: a thread
 * library does this without the operating system.
 *
 * Mostly each permit is given by one unpark and taken by one park: a thread parks only after it has
 * put itself into a queue, and only the thread that takes it from there unparks it. A lock that
 * unparks a thread which may go on without parking defines PERMITS_MEET, permit_take and
 * permit_give before it includes this header: two permits may become one then, and the thread must
 * see what came before either.
 */
#ifndef LOCKCROSS_PARK_H
#define LOCKCROSS_PARK_H

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "types.h"

#ifdef PERMITS_MEET
#include "monitor/permits.h"
#endif

#ifdef LOCKCROSS_SCHEDULER

static inline void park(lock_thread_t *self) {
    handshake_enter_safe(self);
    processor_park(self);
    handshake_leave_safe(self);
}

static inline void unpark(lock_thread_t *thread) { processor_unpark(thread); }

#elif defined(LOCKCROSS_NATIVE)

static inline void park(lock_thread_t *self) {
    handshake_enter_safe(self);
    while (load_acq_u32(&self->permit) == 0)
        lock_sleep(&self->permit, 0);
#ifdef PERMITS_MEET
    permit_take(&self->permit);
#else
    store_rlx_u32(&self->permit, 0);
#endif
    handshake_leave_safe(self);
}

static inline void unpark(lock_thread_t *thread) {
#ifdef PERMITS_MEET
    permit_give(&thread->permit);
#else
    store_rel_u32(&thread->permit, 1);
#endif
    lock_wake(&thread->permit);
}

#else

/* Waits for the permit, safe for handshakes meanwhile. Never to be called with a latch held. */
static inline void park(lock_thread_t *self) {
    charge(CHARGE_PARK);
    handshake_enter_safe(self);
    while (load_acq_u32(&self->permit) == 0)
        cpu_relax();
#ifdef PERMITS_MEET
    permit_take(&self->permit);
#else
    store_rlx_u32(&self->permit, 0);
#endif
    charge(CHARGE_WAKE);
    handshake_leave_safe(self);
}

/* Gives `thread` its permit. */
static inline void unpark(lock_thread_t *thread) {
    charge(CHARGE_UNPARK);
#ifdef PERMITS_MEET
    permit_give(&thread->permit);
#else
    store_rel_u32(&thread->permit, 1);
#endif
}

#endif

#endif
