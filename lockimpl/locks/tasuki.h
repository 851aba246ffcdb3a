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
 * Where the source is silent: the word is loaded once, and tested whether it is free or held by
 * this thread before the CAS is tried, so that a nested acquisition has no atomic: Table 5.4 gives
 * it the cost of an acquisition without one. Deflation policy: nowait objects only (4.6).
 */
#ifndef LOCKCROSS_TASUKI_H
#define LOCKCROSS_TASUKI_H

#include <stdbool.h>
#include <stdint.h>

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

static inline lock_result_t tasuki_acquire(lock_object_t *obj, lock_thread_t *self) {
    return spin_or_core_acquire(obj, self, load_rlx_u32(&obj->lock_word));
}

static inline lock_result_t tasuki_release(lock_object_t *obj, lock_thread_t *self) {
    return core_release(obj, self, load_rlx_u32(&obj->lock_word));
}

static inline lock_result_t tasuki_wait(lock_object_t *obj, lock_thread_t *self) {
    return core_wait(obj, self);
}

static inline lock_result_t tasuki_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    return core_notify(obj, self, limit);
}

static inline bool tasuki_is_idle(lock_object_t *obj) { return core_is_idle(obj); }

#endif
