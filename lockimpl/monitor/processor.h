/*
 * What the locks ask of the processor that a thread runs on, when threads share processors (the
 * M:N runtime, workloads/runtime/scheduler.h). The program defines some of it (host.h); the locks
 * know nothing else of a scheduler. In a program with a processor for each thread they cost
 * nothing, but for yield_to_others: the kernel is asked, and finds nobody else.
 *
 * A thread is switched out only at yield points, in park and in spin_wait: never in the fast path
 * of acquire or release, and never with a latch held. So a thread may spin for a latch without
 * yielding, since its holder is running. While it is switched out a thread is SAFE for handshakes.
 *
 * The slice word of a thread says when it has to be switched out (Odaira and Hiraki,
 * instrumentation code: Kaffe's global_sched_lock_level, here one for each thread):
 *
 *    31                             1   0
 *   +---------------------------------+---+
 *   | depth of forbidden switches     | T |   T = 1 until the time slice is over
 *   +---------------------------------+---+
 *
 * A yield point switches when the word is zero. To forbid switches adds 2 and to permit them
 * subtracts 2; if that leaves zero, the end of the slice was deferred, and the thread yields then.
 */
#ifndef LOCKCROSS_PROCESSOR_H
#define LOCKCROSS_PROCESSOR_H

#include <stdint.h>

#include "arch/arch.h"
#include "host.h"
#include "types.h"

#define PROCESSOR_PRIORITIES 8
#define PROCESSOR_PRIORITY_DEFAULT 4 /* of 0 to 7; higher runs first */

#ifdef LOCKCROSS_SCHEDULER

#if LOCKCROSS_CHARGE_LATENCY != LATENCY_ENGINE
#error "the switch of threads is charged by the engine only"
#endif

#define SLICE_RUNNING 1u
#define SLICE_FORBIDDEN 2u

/* A yield point: the rest of a safepoint. */
static inline void processor_poll(lock_thread_t *self) {
    if (!LOCK_LIKELY(load_rlx_u32(&self->slice) != 0))
        processor_end_slice(self);
}

/* Until processor_permit_switch the time slice of `self` does not end (temporally non-preemption).
 * These calls nest. Parking and spin_wait switch nevertheless. Only this processor writes the word,
 * so plain operations suffice. */
static inline void processor_forbid_switch(lock_thread_t *self) {
    self->slice += SLICE_FORBIDDEN;
    order_compiler();
}

static inline void processor_permit_switch(lock_thread_t *self) {
    order_compiler();
    if (!LOCK_LIKELY((self->slice -= SLICE_FORBIDDEN) != 0))
        processor_end_slice(self);
}

static inline uint32_t processor_priority(const lock_thread_t *thread) { return thread->priority; }

/* One turn of a loop that waits for another thread. */
static inline void spin_wait(lock_thread_t *self) { processor_yield(self); }

/* Yields the processor, as by sched_yield. */
static inline void yield_to_others(lock_thread_t *self) { processor_yield(self); }

#else

static inline void processor_poll(lock_thread_t *self) { (void)self; }
static inline void processor_forbid_switch(lock_thread_t *self) { (void)self; }
static inline void processor_permit_switch(lock_thread_t *self) { (void)self; }
static inline void processor_set_priority(lock_thread_t *thread, uint32_t priority) {
    (void)thread, (void)priority;
}
static inline uint32_t processor_priority(const lock_thread_t *thread) {
    (void)thread;
    return PROCESSOR_PRIORITY_DEFAULT;
}
static inline void spin_wait(lock_thread_t *self) {
    (void)self;
    cpu_relax();
}
static inline void yield_to_others(lock_thread_t *self) {
    (void)self;
#if defined(LOCKCROSS_NATIVE)
    lock_yield();
#elif !defined(LOCKCROSS_MODEL)
    charge(CHARGE_YIELD);
#endif
}

#endif

#endif
