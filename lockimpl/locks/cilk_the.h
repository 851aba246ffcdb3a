/*
 * cilk_the: the THE protocol of Cilk-5, Frigo, Leiserson and Randall 1998, section 5 (its
 * simplified version, without the exception field E); Kawachiya 2005, section 7.3.
 *
 * There a worker pops frames from the tail T of its deque, and thieves steal from its head H. The
 * worker takes no lock: it stores T - 1, then loads H, and only if H > T puts T back and pops once
 * more under the deque's lock L. A thief holds L, stores H + 1, then loads T, and if H > T puts H
 * back and has failed.
 *
 *    31              0     31              0
 *   +-----------------+   +-----------------+
 *   | T: 1, or 0      |   | H: 0, or 1      |   a deque of one frame; free: T = 1, H = 0
 *   +-----------------+   +-----------------+
 *        lock word             flag word
 *    63              32 31               0     63                             0
 *   +------------------+------------------+   +--------------------------------+
 *   | L: tid, or 0     | worker: tid, or 0|   | acquisitions after the first   |
 *   +------------------+------------------+   +--------------------------------+
 *                extra[0]                                 extra[1]
 *
 * Here the protocol is made a lock: the deque holds one frame, the right to be inside. The worker
 * acquires by popping it and releases by pushing it back (T = 1). The paper's thief keeps what it
 * stole. Here it must give it back, so it stays in L while it is inside, and releases by taking
 * back its H and leaving L. The worker's second attempt, under L, therefore always succeeds. A
 * thief that failed leaves L and spins on loads until the frame is there and L is free. The first
 * acquirer becomes the worker by one CAS. The fence kind orders both stores and loads. The protocol
 * is meant for a deque of many frames, but its cost to the worker does not depend on their number.
 */
#ifndef LOCKCROSS_CILK_THE_H
#define LOCKCROSS_CILK_THE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/without_wait.h"
#include "types.h"

enum { cilk_the_initial_word = 1, cilk_the_tid_shift = 0, cilk_the_misc_mask = 0 };

#define LOCK_WORD_IS_VALID(word) ((word) <= 1)

static inline volatile uint32_t *cilk_the_worker(lock_object_t *obj) {
    return (volatile uint32_t *)&obj->extra[0];
}

static inline volatile uint32_t *cilk_the_l(lock_object_t *obj) { return cilk_the_worker(obj) + 1; }

static inline void cilk_the_enter_l(lock_object_t *obj, lock_thread_t *self) {
    while (!cas_acq_u32(cilk_the_l(obj), 0, self->tid_field)) {
        while (load_rlx_u32(cilk_the_l(obj)) != 0)
            spin_wait(self);
    }
}

static inline void cilk_the_leave_l(lock_object_t *obj) { store_rel_u32(cilk_the_l(obj), 0); }

/* The worker's first attempt. */
static inline bool cilk_the_pop(lock_object_t *obj) {
    if (LOCK_LIKELY(store_u32_then_load_other_acq_u32(&obj->lock_word, 0, &obj->flag) == 0))
        return true;
    store_rlx_u32(&obj->lock_word, 1);
    return false;
}

/* A thief's attempt; stays in L if it has succeeded. */
static inline bool cilk_the_steal(lock_object_t *obj, lock_thread_t *self) {
    cilk_the_enter_l(obj, self);
    if (LOCK_LIKELY(store_u32_then_load_other_acq_u32(&obj->flag, 1, &obj->lock_word) != 0))
        return true;
    store_rlx_u32(&obj->flag, 0);
    cilk_the_leave_l(obj);
    return false;
}

LOCK_SLOW lock_result_t cilk_the_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    if (load_rlx_u32(cilk_the_worker(obj)) == 0 &&
        cas_acq_u32(cilk_the_worker(obj), 0, self->tid_field) && cilk_the_pop(obj))
        return SUCCESS;
    if (load_rlx_u32(cilk_the_worker(obj)) == self->tid_field) {
        cilk_the_enter_l(obj, self);
        store_rlx_u32(&obj->lock_word, 0);
        cilk_the_leave_l(obj);
        return SUCCESS;
    }
    while (!cilk_the_steal(obj, self)) {
        while (load_rlx_u32(&obj->lock_word) == 0 || load_rlx_u32(cilk_the_l(obj)) != 0)
            spin_wait(self);
    }
    return SUCCESS;
}

static inline bool cilk_the_is_acquired(lock_object_t *obj, const lock_thread_t *self) {
    if (LOCK_LIKELY(load_rlx_u32(cilk_the_worker(obj)) == self->tid_field))
        return load_rlx_u32(&obj->lock_word) == 0;
    return load_rlx_u32(cilk_the_l(obj)) == self->tid_field;
}

static inline lock_result_t cilk_the_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(!cilk_the_is_acquired(obj, self))) {
        store_rlx_u64(&obj->extra[1], load_rlx_u64(&obj->extra[1]) + 1);
        return SUCCESS;
    }
    if (LOCK_LIKELY(load_rlx_u32(cilk_the_worker(obj)) == self->tid_field) &&
        LOCK_LIKELY(cilk_the_pop(obj)))
        return SUCCESS;
    return cilk_the_acquire_slow(obj, self);
}

static inline lock_result_t cilk_the_release(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(cilk_the_is_acquired(obj, self)))
        return ILLEGAL_STATE;
    uint64_t recursions = load_rlx_u64(&obj->extra[1]);
    if (!LOCK_LIKELY(recursions == 0)) {
        store_rlx_u64(&obj->extra[1], recursions - 1);
    } else if (LOCK_LIKELY(load_rlx_u32(cilk_the_worker(obj)) == self->tid_field)) {
        store_rel_u32(&obj->lock_word, 1);
    } else {
        store_rel_u32(&obj->flag, 0);
        cilk_the_leave_l(obj);
    }
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(cilk_the)

static inline bool cilk_the_is_idle(lock_object_t *obj) {
    return obj->lock_word == 1 && obj->flag == 0 && *cilk_the_l(obj) == 0 && obj->extra[1] == 0;
}

#endif
