/*
 * j9_flat: the lock of OpenJ9, read in eclipse-openj9/openj9: runtime/vm/ObjectMonitor.cpp and
 * runtime/vm/monhelpers.c; its spin counts in runtime/vm/vmthread.cpp.
 *
 * A CAS acquires it, and a load, a comparison and a plain store release it: no atomic, and no order
 * of the store before what follows. A contender first spins: 45 times 32 tries, behind each of
 * which it pauses once and does nothing for 256 turns (on POWER 96, with lowered priority), and a
 * yield of the processor behind 32. So it does for an inflated lock (256 turns on POWER, too). Then
 * it enters the object's monitor, marks the word by a CAS (FLC: flat lock contention) and waits in
 * the monitor. The holder that sees the mark at its release inflates the lock: it enters the
 * monitor, makes the word refer to it and wakes all who wait there.
 *
 * The holder's plain store may overwrite a mark that came between its load and it. Then nobody
 * wakes the contender; so it waits for a limited time only, 1, 4, 16 and from then on 64
 * milliseconds, and looks at the word again. The lock is right only by that timer.
 *
 *    31          16 15       8 7     4  3   2    1    0
 *   +--------------+----------+-------+-------+-----+---+
 *   | 0            | tid      | count | 0     | FLC | 0 |   flat; count = acquisitions - 1
 *   | monitor index           | 0     | 0     | 0   | 1 |   inflated
 *   +-------------------------+-------+-------+-----+---+
 *
 * A nested acquisition stores a higher count, since the word is loaded before the CAS (so it is on
 * x86-64 and POWER; for AArch64 OpenJ9 compiles the CAS alone, which then fails); one that finds
 * the count full inflates the lock. Waiting does, too. A contender that gets the flat lock after
 * all marks the word itself, since others may wait behind it.
 *
 * Read in a revision of August 2026 (01279d94). Left out: deflation, which OpenJ9 does by default
 * once nobody waits: a lock that was contended is dear for ever here; reservation and learning; the
 * spinning of omrthread's own monitors behind this one; and the count of monitors that a thread has
 * entered, which Java 19 and later keep (an addition each way, at most a cycle).
 */
#ifndef LOCKCROSS_J9_FLAT_H
#define LOCKCROSS_J9_FLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "parts/j9_lock.h"
#include "types.h"

enum { j9_flat_initial_word = 0, j9_flat_tid_shift = 8, j9_flat_misc_mask = 0 };

#define LOCK_WORD_IS_VALID(word) j9_word_is_valid(word)

static inline lock_result_t j9_flat_acquire(lock_object_t *obj, lock_thread_t *self) {
    /* free -> ours */
    if (LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == 0) &&
        LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid_field)))
        return SUCCESS;
    return j9_acquire_slow(obj, self);
}

static inline lock_result_t j9_flat_release(lock_object_t *obj, lock_thread_t *self) {
    return j9_release(obj, self, load_rlx_u32(&obj->lock_word));
}

static inline lock_result_t j9_flat_wait(lock_object_t *obj, lock_thread_t *self) {
    return j9_wait(obj, self);
}

static inline lock_result_t j9_flat_notify(lock_object_t *obj, lock_thread_t *self,
                                           uint32_t limit) {
    return j9_notify(obj, self, limit);
}

static inline bool j9_flat_is_idle(lock_object_t *obj) { return j9_is_idle(obj); }

#endif
