/*
 * tasuki: the tasuki lock of Kawachiya 2005, section 4.5, Figure 4.7.
 *
 * Flat, it is like the thin lock: one CAS to acquire, one store to release, and then one test of
 * the FLC bit, which contenders set instead of busy-waiting. Inflated, it is a monitor, and it is
 * deflated when the contention is over. tasuki_core.h has the algorithm, tasuki_spin.h the flat
 * lock.
 *
 *    31 30           16 15        8 7        0         31             1  0
 *   +--+---------------+-----------+----------+       +----------------+--+
 *   |0 | tid           | count     | misc     | flat  |                |F |
 *   +--+---------------+-----------+----------+       +----------------+--+
 *   |1 | monitor index (23 bits)   | misc     | infl.  flag word; F = FLC
 *   +--+---------------------------+----------+
 *   shape                    count = acquisitions - 1
 *
 * The word is loaded once, and tested whether it is free or held by this thread before the CAS is
 * tried, so that a nested acquisition has no atomic: Table 5.4 gives it the cost of an acquisition
 * without one. Deflation policy: nowait objects only (4.6).
 *
 * Variants:
 *
 *   - multiprocessor   the default: with the orders that a multiprocessor needs (4.5.5), inlined
 *   - jdk116           the lock as chapter 4 measured it, in IBM's JDK 1.1.6 on a uniprocessor
 *   - jdk131           the lock as chapter 5 measured it (parts/called_with_fences.h)
 *
 * jdk116 is to this lock what ThinLock is to thin (thin:dynamic), on which the source built it
 * (4.6): routines that are called, test the processor each time, and try the CAS first, as
 * Figure 4.7 has it. On a uniprocessor there are no orders, and what it has more than the thin lock
 * is the test of the FLC bit (4.5.1). A thread has a cache of its own in front of the table of
 * monitors (4.6.1, monitor/thread_cache.h). It deflates when the fat section is over (4.6), and an
 * object is in one while "a thread has attempted to acquire the object's lock but has not yet
 * acquired the lock" (4.4.1): so a thread that was woken counts until it has the lock. Where the
 * source is silent: monitors themselves are as in the other variants, with orders.
 *
 * The source names other deflation policies, "on the basis of dynamic or static profiling
 * information" (4.5.1), but defines none; so there is none here.
 */
#ifndef LOCKCROSS_TASUKI_H
#define LOCKCROSS_TASUKI_H

#include <stdbool.h>
#include <stdint.h>

#if LOCKCROSS_VARIANT_JDK116
#define MONITOR_WORD entrants
#define TASUKI_ROUTINE LOCK_SLOW /* called */
#else
#define TASUKI_ROUTINE static inline
#endif

#include "arch/arch.h"
#include "monitor/monitor_table.h"
#include "parts/tasuki_acquire.h"
#include "parts/tasuki_core.h"
#include "parts/tasuki_spin.h"
#include "types.h"

enum { tasuki_initial_word = 0, tasuki_tid_shift = 16, tasuki_misc_mask = SPIN_MISC };

/* What the diagram allows: a monitor of the pool; a holder; or a free lock, which has no count. */
static inline bool tasuki_word_is_valid(uint32_t word) {
    if (word & SPIN_SHAPE)
        return ((word & ~SPIN_SHAPE) >> SPIN_MONITOR_SHIFT) - 1 < MONITOR_POOL_SIZE;
    return word >> 16 ? word >> 16 <= LOCK_MAX_THREADS : (word & SPIN_COUNT) == 0;
}
#define LOCK_WORD_IS_VALID(word) tasuki_word_is_valid(word)

#if LOCKCROSS_VARIANT_JDK131
#include "parts/called_with_fences.h"
#define TASUKI_OPERATION(name) tasuki_##name##_inlined
#else
#define TASUKI_OPERATION(name) tasuki_##name
#endif

#if LOCKCROSS_VARIANT_JDK116
LOCK_SLOW lock_result_t tasuki_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(spin_try_acquire(obj, self)))
        return SUCCESS;
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (spin_is_acquired(word, self) && (word & SPIN_COUNT) != SPIN_COUNT) {
        store_rlx_u32(&obj->lock_word, word + SPIN_COUNT_ONE);
        return SUCCESS;
    }
    return core_acquire_slow(obj, self);
}
#else
static inline lock_result_t TASUKI_OPERATION(acquire)(lock_object_t *obj, lock_thread_t *self) {
    return spin_or_core_acquire(obj, self, load_rlx_u32(&obj->lock_word));
}
#endif

TASUKI_ROUTINE lock_result_t TASUKI_OPERATION(release)(lock_object_t *obj, lock_thread_t *self) {
    return core_release(obj, self, load_rlx_u32(&obj->lock_word));
}

#if LOCKCROSS_VARIANT_JDK131
CALLED_WITH_FENCES(tasuki)
#endif

static inline lock_result_t tasuki_wait(lock_object_t *obj, lock_thread_t *self) {
    return core_wait(obj, self);
}

static inline lock_result_t tasuki_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    return core_notify(obj, self, limit);
}

static inline bool tasuki_is_idle(lock_object_t *obj) { return core_is_idle(obj); }

#endif
