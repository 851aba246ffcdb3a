/*
 * cas_spin: the CAS-based spin lock of Kawachiya 2005, section 6.3.1, Figure 6.2.
 *
 * A thread acquires the lock by changing the lock word from zero to its identifier with one CAS,
 * and releases it by storing zero.
 *
 *    31                              0     31                 0
 *   +---------------------------------+   +--------------------+
 *   |   tid of the holder, or 0       |   | recursions (holder)|
 *   +---------------------------------+   +--------------------+
 *             lock word                         flag word
 *
 * Where the figure is silent: it has no recursion; here the flag word counts the acquisitions after
 * the first, and only the holder uses it. After a lost CAS the thread spins on loads with cpu_relax
 * until the word is zero (the "spin-on-read" of 6.3.1).
 */
#ifndef LOCKCROSS_CAS_SPIN_H
#define LOCKCROSS_CAS_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/without_wait.h"
#include "types.h"

enum { cas_spin_initial_word = 0, cas_spin_tid_shift = 0, cas_spin_misc_mask = 0 };

#define LOCK_WORD_IS_VALID(word) ((word) <= LOCK_MAX_THREADS)

LOCK_SLOW lock_result_t cas_spin_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    if (load_rlx_u32(&obj->lock_word) == self->tid_field) {
        store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) + 1);
        return SUCCESS;
    }
    do {
        while (load_rlx_u32(&obj->lock_word) != 0)
            spin_wait(self);
    } while (!cas_acq_u32(&obj->lock_word, 0, self->tid_field));
    return SUCCESS;
}

static inline lock_result_t cas_spin_acquire(lock_object_t *obj, lock_thread_t *self) {
    /* free -> ours */
    if (LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid_field)))
        return SUCCESS;
    return cas_spin_acquire_slow(obj, self);
}

static inline lock_result_t cas_spin_release(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == self->tid_field))
        return ILLEGAL_STATE;
    uint32_t recursions = load_rlx_u32(&obj->flag);
    if (LOCK_LIKELY(recursions == 0))
        /* ours -> free; the section is visible before the word */
        store_rel_u32(&obj->lock_word, 0);
    else
        store_rlx_u32(&obj->flag, recursions - 1);
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(cas_spin)

static inline bool cas_spin_is_idle(lock_object_t *obj) {
    return obj->lock_word == 0 && obj->flag == 0;
}

#endif
