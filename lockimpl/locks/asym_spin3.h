/*
 * asym_spin3: the asymmetric spin lock in three words, Kawachiya 2005, section 6.3.2, Figures 6.3
 * to 6.5.
 *
 * The first acquirer becomes the permanent owner by one CAS. There are two rounds (6.4.1): the
 * other threads compete by a CAS of `other`; its winner and the owner, which takes no part in that,
 * then run Dekker's algorithm: each stores its own field and loads the other's, and resets its own
 * if that is set. To release, each clears the field that it set. asym_spin1.h is the same lock with
 * the three fields in one word: there the CAS of another thread covers the owner's status too, so
 * that thread need not look again, nobody livelocks, and the owner's store and load can be
 * collocated.
 *
 *    31                     0     31                     0
 *   +------------------------+   +------------------------+
 *   | owner: tid, or 0       |   | other: tid, or 0       |
 *   +------------------------+   +------------------------+
 *          lock word                     flag word
 *    63                           32 31                             0
 *   +-------------------------------+--------------------------------+
 *   | recursions of the other thread| owner_status: the owner's holds|
 *   +-------------------------------+--------------------------------+
 *                               extra[0]
 *
 * The fence kind orders the owner's store and load. Another thread needs the same order of its CAS
 * and its load of owner_status (6.4.3, footnote 3): where an atomic is no fence, on POWER and
 * AArch64, it pays for the full fence as well. With fence kind membarrier that thread makes a
 * process-wide barrier between the two. Since that is dear, a winner of the CAS that sees
 * owner_status set keeps `other`, and waits until the owner is gone; nobody livelocks then. Where
 * the source is silent: owner_status counts the owner's acquisitions, and a separate word those of
 * another thread after its first. The figure can livelock (6.4.2): another thread that saw
 * owner_status set backs off (back_off.h), the owner does not. Both spin on loads until the field
 * that keeps them out is clear.
 *
 * Variant known is the pattern of section 8.2, Figure 8.3, for data of which one frequent locker is
 * known: the thread that creates the object owns it from the start, and nobody makes the first CAS.
 * In the figure the frequent locker's code has no test of who it is; here one code is for all
 * threads, so the test of `owner` stays.
 */
#ifndef LOCKCROSS_ASYM_SPIN3_H
#define LOCKCROSS_ASYM_SPIN3_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/back_off.h"
#include "parts/without_wait.h"
#include "types.h"

enum { asym_spin3_initial_word = 0, asym_spin3_tid_shift = 0, asym_spin3_misc_mask = 0 };

#define LOCK_WORD_IS_VALID(word) ((word) <= LOCK_MAX_THREADS)

#if LOCKCROSS_VARIANT_KNOWN
#define LOCK_WORD_CREATED_BY(thread) ((uint32_t)((thread) - lock_threads + 1))
#endif

static inline volatile uint32_t *asym_spin3_status(lock_object_t *obj) {
    return (volatile uint32_t *)&obj->extra[0];
}

static inline volatile uint32_t *asym_spin3_recursions(lock_object_t *obj) {
    return asym_spin3_status(obj) + 1;
}

/* One attempt of the owner, which does not hold the lock. */
static inline bool asym_spin3_try_owner(lock_object_t *obj) {
    volatile uint32_t *status = asym_spin3_status(obj);
    if (LOCK_LIKELY(store_u32_then_load_other_acq_u32(status, 1, &obj->flag) == 0))
        return true;
#if !FENCE_IS_ASYMMETRIC
    store_rlx_u32(status, 0);
#else /* another thread that waits for the zero goes on where the owner's last section ended */
    store_rel_u32(status, 0);
#endif
    return false;
}

/* One attempt of another thread, which does not hold the lock. */
#if !FENCE_IS_ASYMMETRIC
static inline bool asym_spin3_try_other(lock_object_t *obj, lock_thread_t *self) {
    if (!cas_then_fence_u32(&obj->flag, 0, self->tid_field))
        return false;
    if (LOCK_LIKELY(load_acq_u32(asym_spin3_status(obj)) == 0))
        return true;
    store_rlx_u32(&obj->flag, 0);
    return false;
}
#else
static inline bool asym_spin3_try_other(lock_object_t *obj, lock_thread_t *self) {
    if (!cas_acq_u32(&obj->flag, 0, self->tid_field))
        return false;
    process_barrier();
    while (load_acq_u32(asym_spin3_status(obj)) != 0)
        spin_wait(self);
    return true;
}
#endif

LOCK_SLOW lock_result_t asym_spin3_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    if (load_rlx_u32(&obj->lock_word) == 0)
        cas_acq_u32(&obj->lock_word, 0, self->tid_field);
    if (load_rlx_u32(&obj->lock_word) == self->tid_field) {
        while (!asym_spin3_try_owner(obj)) {
            while (load_rlx_u32(&obj->flag) != 0)
                spin_wait(self);
        }
        return SUCCESS;
    }
    uint32_t failures = 0;
    do {
        back_off(self, &failures);
        while (load_rlx_u32(&obj->flag) != 0 || load_rlx_u32(asym_spin3_status(obj)) != 0)
            spin_wait(self);
    } while (!asym_spin3_try_other(obj, self));
    return SUCCESS;
}

static inline lock_result_t asym_spin3_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t owner = load_rlx_u32(&obj->lock_word);
    if (LOCK_LIKELY(owner == self->tid_field)) {
        uint32_t holds = load_rlx_u32(asym_spin3_status(obj));
        if (!LOCK_LIKELY(holds == 0)) {
            store_rlx_u32(asym_spin3_status(obj), holds + 1);
            return SUCCESS;
        }
        if (LOCK_LIKELY(asym_spin3_try_owner(obj)))
            return SUCCESS;
    } else if (load_rlx_u32(&obj->flag) == self->tid_field) {
        volatile uint32_t *recursions = asym_spin3_recursions(obj);
        store_rlx_u32(recursions, load_rlx_u32(recursions) + 1);
        return SUCCESS;
    } else if (owner != 0 && asym_spin3_try_other(obj, self)) {
        return SUCCESS;
    }
    return asym_spin3_acquire_slow(obj, self);
}

static inline lock_result_t asym_spin3_release(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == self->tid_field)) {
        uint32_t holds = load_rlx_u32(asym_spin3_status(obj));
        if (!LOCK_LIKELY(holds != 0))
            return ILLEGAL_STATE;
        store_rel_u32(asym_spin3_status(obj), holds - 1);
        return SUCCESS;
    }
    if (!LOCK_LIKELY(load_rlx_u32(&obj->flag) == self->tid_field))
        return ILLEGAL_STATE;
    volatile uint32_t *recursions = asym_spin3_recursions(obj);
    uint32_t left = load_rlx_u32(recursions);
    if (LOCK_LIKELY(left == 0))
        store_rel_u32(&obj->flag, 0);
    else
        store_rlx_u32(recursions, left - 1);
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(asym_spin3)

static inline bool asym_spin3_is_idle(lock_object_t *obj) {
    return obj->flag == 0 && obj->extra[0] == 0;
}

#endif
