/*
 * reservation: the reservation lock of Kawachiya 2005, section 5.3, Figure 5.6, over the tasuki
 * lock as in section 5.5.1, Figures 5.9 and 5.10.
 *
 * A new object is reserved anonymously; its first acquirer makes the reservation specific with one
 * CAS and becomes its owner. The owner acquires and releases by plain loads and stores of the word,
 * without atomics and fences. Another thread stops the owner, clears the LRV (lock reserved) bit,
 * and resumes it; from then on the lock remains a tasuki lock.
 *
 *    31 30           16 15      9  8  7        0
 *   +--+---------------+---------+---+----------+
 *   |0 | tid, or 0     | rcnt    | 1 | misc     |   reserved (tid 0: anonymously); LRV = 1
 *   +--+---------------+---------+---+----------+
 *   |0 | tid, or 0     | rcnt    | 0 | misc     |   base, flat; rcnt = acquisitions in both
 *   +--+---------------+---------+---+----------+
 *   |1 | monitor index (22 bits) | 0 | misc     |   base, inflated
 *   +--+-------------------------+---+----------+
 *   shape                         LRV
 *
 * From a load of the word to the store that depends on it there is an unsafe region: the owner must
 * not be stopped inside it, or must start it again. The variants handshake (the default), suspend,
 * signal and predicated differ in how a reservation is cancelled (reservation_cancel.h). The
 * variant creator differs in policy: the lock is reserved for the thread that creates the object,
 * from the start (5.5.3); in the others for the initial locker (5.3.1). The variant jdk131 is the
 * lock as section 5.5.1 measured it, called and with fences (parts/called_with_fences.h); it
 * cancels as handshake does.
 *
 * A held lock's word in the base mode is the same word without the LRV bit (footnote 10), so the
 * base's rcnt is 1 when the lock is held once. Before a wait, and when rcnt is full, the owner
 * cancels its own reservation, and nobody is stopped.
 */
#ifndef LOCKCROSS_RESERVATION_H
#define LOCKCROSS_RESERVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "parts/reservation_cancel.h"
#include "parts/reservation_word.h"
#include "parts/tasuki_acquire.h"
#include "parts/tasuki_core.h"
#include "parts/tasuki_spin.h"
#include "types.h"
#if RESERVATION_BY_SIGNAL
#include "arch/restartable.h"
#endif
/* Behind the parts: a compiler lays out functions in the order in which it has read them. */
#include "monitor/monitor_table.h"

#if LOCKCROSS_VARIANT_JDK131
#include "parts/called_with_fences.h"
#define RESERVATION_OPERATION(name) reservation_##name##_inlined
#else
#define RESERVATION_OPERATION(name) reservation_##name
#endif

#if LOCKCROSS_VARIANT_CREATOR
#define LOCK_WORD_CREATED_BY(thread)                                                               \
    (RESERVATION_LRV | (uint32_t)((thread) - lock_threads + 1) << reservation_tid_shift)
#endif

enum {
    reservation_initial_word = RESERVATION_LRV,
    reservation_tid_shift = 16,
    reservation_misc_mask = SPIN_MISC
};

/* What the diagram allows: without a tid there is no rcnt, and with one there is an rcnt unless the
 * lock is reserved. */
static inline bool reservation_word_is_valid(uint32_t word) {
    bool held = (word & SPIN_COUNT) != 0;
    if (word & SPIN_SHAPE)
        return !(word & RESERVATION_LRV) &&
               ((word & ~SPIN_SHAPE) >> SPIN_MONITOR_SHIFT) - 1 < MONITOR_POOL_SIZE;
    if ((word & RESERVATION_TID) == 0)
        return !held;
    return word >> 16 <= LOCK_MAX_THREADS && (held || word & RESERVATION_LRV);
}
#define LOCK_WORD_IS_VALID(word) reservation_word_is_valid(word)

/* Whether the lock is reserved for `self`, held or not. */
static inline bool reservation_is_mine(uint32_t word, const lock_thread_t *self) {
    return ((word ^ (self->tid_field | RESERVATION_LRV)) & ~(SPIN_COUNT | SPIN_MISC)) == 0;
}

/* Cancels the reservation for the thread in `word`. */
LOCK_SLOW void reservation_unreserve(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    reservation_cancel(obj, self, &lock_threads[(word & RESERVATION_TID) / (1u << 16) - 1]);
}

LOCK_SLOW lock_result_t reservation_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    while ((word & RESERVATION_LRV) && (word & RESERVATION_TID) == 0) {
        /* reserved for nobody -> for this thread, which holds it once */
        if (cas_acq_u32(&obj->lock_word, word, word | self->tid_field | SPIN_COUNT_FIRST))
            return SUCCESS;
        word = load_rlx_u32(&obj->lock_word);
    }
    if (word & RESERVATION_LRV) /* another thread's, or this thread's with a full rcnt */
        reservation_unreserve(obj, self, word);
    return spin_or_core_acquire(obj, self, load_rlx_u32(&obj->lock_word));
}

#if RESERVATION_BY_SIGNAL

/* The owner's path, an unsafe region: adds `add` to the word if the lock is reserved for `self` and
 * its rcnt is not `except`. Returns whether it did; `seen` is the old word. */
static inline __attribute__((always_inline)) bool reservation_add(lock_object_t *obj,
                                                                  lock_thread_t *self,
                                                                  uint32_t except, uint32_t add,
                                                                  uint32_t *seen) {
    return restartable_add_u32(&obj->lock_word, ~(SPIN_COUNT | SPIN_MISC),
                               self->tid_field | RESERVATION_LRV, SPIN_COUNT, except, add, self,
                               seen);
}

static inline lock_result_t reservation_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word;
    if (LOCK_LIKELY(reservation_add(obj, self, SPIN_COUNT, SPIN_COUNT_ONE, &word)))
        return SUCCESS;
    if (word & RESERVATION_LRV)
        return reservation_acquire_slow(obj, self);
    return spin_or_core_acquire(obj, self, word);
}

static inline lock_result_t reservation_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word;
    if (LOCK_LIKELY(reservation_add(obj, self, 0, -SPIN_COUNT_ONE, &word)))
        return SUCCESS;
    return reservation_is_mine(word, self) ? ILLEGAL_STATE : core_release(obj, self, word);
}

#else

static inline lock_result_t RESERVATION_OPERATION(acquire)(lock_object_t *obj,
                                                           lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word); /* the unsafe region begins */
    if (LOCK_LIKELY(reservation_is_mine(word, self) && (word & SPIN_COUNT) != SPIN_COUNT)) {
        store_rlx_u32(&obj->lock_word, word + SPIN_COUNT_ONE); /* and ends */
        order_compiler();
        return SUCCESS;
    }
    if (word & RESERVATION_LRV)
        return reservation_acquire_slow(obj, self);
    return spin_or_core_acquire(obj, self, word);
}

static inline lock_result_t RESERVATION_OPERATION(release)(lock_object_t *obj,
                                                           lock_thread_t *self) {
    order_compiler();
    uint32_t word = load_rlx_u32(&obj->lock_word); /* the unsafe region begins */
    if (!LOCK_LIKELY(reservation_is_mine(word, self)))
        return core_release(obj, self, word); /* of another's reservation: holds no base lock */
    if (!LOCK_LIKELY((word & SPIN_COUNT) != 0))
        return ILLEGAL_STATE;
    store_rlx_u32(&obj->lock_word, word - SPIN_COUNT_ONE); /* and ends */
    return SUCCESS;
}

#if LOCKCROSS_VARIANT_JDK131
CALLED_WITH_FENCES(reservation)
#endif

#endif

/* In the reserve mode nobody can be waiting, and there is no monitor. */
static inline lock_result_t reservation_state(uint32_t word, const lock_thread_t *self) {
    return reservation_is_mine(word, self) && (word & SPIN_COUNT) ? SUCCESS : ILLEGAL_STATE;
}

LOCK_SLOW lock_result_t reservation_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & RESERVATION_LRV) {
        if (reservation_state(word, self) != SUCCESS)
            return ILLEGAL_STATE;
        reservation_unreserve(obj, self, word);
    }
    return core_wait(obj, self);
}

static inline lock_result_t reservation_notify(lock_object_t *obj, lock_thread_t *self,
                                               uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & RESERVATION_LRV ? reservation_state(word, self) : core_notify(obj, self, limit);
}

static inline bool reservation_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & RESERVATION_LRV ? (word & SPIN_COUNT) == 0 : core_is_idle(obj);
}

#endif
