/*
 * j9_reservation: the lock of OpenJ9 with lock reservation that learns (GlobalLockReservation, on
 * by default on POWER since 0.27), read in eclipse-openj9/openj9: doc/features/ObjectLockword.md,
 * runtime/oti/ObjectMonitor.hpp, runtime/vm/ObjectMonitor.cpp, monhelpers.c and jvminit.c.
 *
 * Learning: all changes of the word are made by a CAS. Each acquisition but the first adds to the
 * count of learning (lc); one that finds it at J9_LEARNED makes the lock reserved. Another thread
 * that comes meanwhile makes the lock flat by a CAS, and nobody is stopped. Reserved: the word
 * keeps the owner's tid, which acquires and releases by a load and a store, without an atomic and
 * without an order. Another thread stops the owner, makes the lock flat by a CAS, and resumes the
 * owner. A lock is never reserved twice: flat, it is that of j9_flat.h (parts/j9_lock.h).
 *
 *    31          16 15       8 7    6 5    4   3    2    1    0
 *   +--------------+----------+-------------+----+----+-----+---+
 *   | 0            | tid      | count       | 0  | 0  | FLC | 0 |   flat; count = acquisitions - 1
 *   | 0            | tid      | count       | 0  | 1  | 0   | 0 |   reserved; count = acquisitions
 *   | 0            | tid      | count | lc  | 1  | 0  | 0   | 0 |   learning; count = acquisitions
 *   | monitor index           | 0           | 0  | 0  | 0   | 1 |   inflated
 *   +-------------------------+-------------+----+----+-----+---+
 *
 * A new object has no tid. It begins as learning, reserved or flat, by two counts of its class: of
 * its locks that became reserved, and of those that were cancelled, which another thread made flat.
 *
 *   - reserved, if at least J9_RESERVED_LEAST were and more than J9_RESERVED_RATIO for each that
 * was cancelled: the first acquirer is the owner at once
 *   - learning, if fewer than J9_CANCELLED_LEAST were cancelled, or more than J9_LEARNING_RATIO
 * were reserved for each of them
 *   - flat otherwise
 *
 * Both are halved where one of 16 bits would overflow. They are changed without atomics, so that
 * updates may be lost, as in OpenJ9.
 *
 * From the load of a reserved word to the store that depends on it the owner has no safepoint. A
 * learning lock whose count is full becomes flat, and a reserved one, too.
 *
 * Choices: an object has no class, so there is one for all objects of a program; compiled code of
 * OpenJ9 has the word that new objects begin with as a constant, until it is compiled anew. The
 * owner of a reserved lock that waits, or finds its count full, makes the lock flat before it
 * inflates it. A contender of a lock that is reserved does not spin. Left out: what j9_flat.h
 * leaves out, and the list of classes that compiled code reserves locks of elsewhere.
 */
#ifndef LOCKCROSS_J9_RESERVATION_H
#define LOCKCROSS_J9_RESERVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "parts/j9_lock.h"
#include "types.h"

/* The options of GlobalLockReservation: reservedTransitionThreshold, reservedAbsoluteThreshold,
 * minimumReservedRatio, cancelAbsoluteThreshold, minimumLearningRatio. */
#ifndef J9_LEARNED
#define J9_LEARNED 1u /* at most 3, the highest lc; above, nothing is reserved */
#endif
#ifndef J9_RESERVED_LEAST
#define J9_RESERVED_LEAST 10u
#endif
#ifndef J9_RESERVED_RATIO
#define J9_RESERVED_RATIO 1024u
#endif
#ifndef J9_CANCELLED_LEAST
#define J9_CANCELLED_LEAST 10u
#endif
#ifndef J9_LEARNING_RATIO
#define J9_LEARNING_RATIO 256u
#endif

#define J9_LEARNING 0x00000008u
#define J9_RESERVED 0x00000004u
#define J9_TID 0x0000ff00u
#define J9_LC 0x00000030u
#define J9_LC_ONE 0x00000010u
#define J9_LEARNING_COUNT 0x000000c0u
#define J9_LEARNING_COUNT_ONE 0x00000040u

enum {
    j9_reservation_initial_word = J9_LEARNING,
    j9_reservation_tid_shift = 8,
    j9_reservation_misc_mask = 0
};

/* The class of all objects: how many locks became reserved, how many were cancelled. */
typedef struct {
    volatile uint32_t reserved, cancelled;
} __attribute__((aligned(LOCK_LINE))) j9_class_t;

extern j9_class_t j9_class;
#ifdef LOCKCROSS_STORAGE
j9_class_t j9_class;
#endif

#define LOCK_ON_OBJECT_INIT(obj) store_rlx_u32(&(obj)->lock_word, j9_first_word())

/* What the diagram allows. */
static inline bool j9_reservation_word_is_valid(uint32_t word) {
    if (word & J9_INFLATED || !(word & (J9_LEARNING | J9_RESERVED)))
        return j9_word_is_valid(word);
    bool one = (word & (J9_LEARNING | J9_RESERVED)) != (J9_LEARNING | J9_RESERVED);
    uint32_t tid = word >> 8;
    return one && !(word & J9_FLC) && (tid == 0 ? !(word & J9_COUNT) : tid <= LOCK_MAX_THREADS);
}
#define LOCK_WORD_IS_VALID(word) j9_reservation_word_is_valid(word)

/* The lock word of a new object. */
static inline uint32_t j9_first_word(void) {
    uint32_t reserved = load_rlx_u32(&j9_class.reserved);
    uint32_t cancelled = load_rlx_u32(&j9_class.cancelled);
    if (reserved >= J9_RESERVED_LEAST && reserved > cancelled * J9_RESERVED_RATIO)
        return J9_RESERVED;
    return cancelled < J9_CANCELLED_LEAST || reserved > cancelled * J9_LEARNING_RATIO ? J9_LEARNING
                                                                                      : 0;
}

/* Counts one more of what `count` counts; `other` is the other count of the class. */
static inline void j9_count(volatile uint32_t *count, volatile uint32_t *other) {
    uint32_t before = load_rlx_u32(count);
    if (before == 0xffff) {
        before /= 2;
        store_rlx_u32(other, load_rlx_u32(other) / 2);
    }
    store_rlx_u32(count, before + 1);
}

static inline void j9_count_reserved(void) { j9_count(&j9_class.reserved, &j9_class.cancelled); }
static inline void j9_count_cancelled(void) { j9_count(&j9_class.cancelled, &j9_class.reserved); }

static inline bool j9_is_learning(uint32_t word) {
    return (word & (J9_LEARNING | J9_INFLATED)) == J9_LEARNING;
}

static inline bool j9_is_reserved(uint32_t word) {
    return (word & (J9_RESERVED | J9_INFLATED)) == J9_RESERVED;
}

/* Whether the word says: reserved for `self`, held or not. */
static inline bool j9_is_reserved_for(uint32_t word, const lock_thread_t *self) {
    return (word & ~J9_COUNT) == (self->tid_field | J9_RESERVED);
}

/* How often the lock is held, if the word says that it is learning or reserved. */
static inline uint32_t j9_holds(uint32_t word) {
    return word & J9_LEARNING ? (word & J9_LEARNING_COUNT) / J9_LEARNING_COUNT_ONE
                              : (word & J9_COUNT) / J9_COUNT_ONE;
}

/* The word of a flat lock that is held as often by the same thread, or free. */
static inline uint32_t j9_flat_word(uint32_t word) {
    uint32_t holds = j9_holds(word);
    return holds == 0 ? 0 : (word & J9_TID) | (holds - 1) * J9_COUNT_ONE;
}

/* Makes a reserved lock flat; `owner` may be `self`. */
LOCK_SLOW void j9_cancel(lock_object_t *obj, lock_thread_t *self, lock_thread_t *owner) {
    if (owner != self)
        handshake_stop(self, owner);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    /* release: what the owner did under the lock goes to the next holder of the flat lock */
    bool cancelled = j9_is_reserved_for(word, owner) &&
                     cas_acq_rel_u32(&obj->lock_word, word, j9_flat_word(word));
    if (owner != self)
        handshake_resume(self, owner);
    if (cancelled && owner != self)
        j9_count_cancelled();
}

/* By the thread that learns: one acquisition more of a lock that it has acquired before. */
static inline bool j9_learn(lock_object_t *obj, uint32_t word) {
    bool learned = (word & J9_LC) / J9_LC_ONE >= J9_LEARNED;
    uint32_t next = word + J9_LEARNING_COUNT_ONE;
    if (learned)
        next = (word & J9_TID) | (j9_holds(word) + 1) * J9_COUNT_ONE | J9_RESERVED;
    else if ((word & J9_LC) != J9_LC)
        next += J9_LC_ONE;
    if (!cas_rlx_u32(&obj->lock_word, word, next))
        return false; /* another thread has made it flat */
    if (learned)
        j9_count_reserved();
    return true;
}

/* Tries to acquire a lock that is learning; false if the word has changed, maybe by this. */
static inline bool j9_acquire_learning(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    if ((word & J9_TID) == 0)
        return cas_acq_u32(&obj->lock_word, word, word | self->tid_field | J9_LEARNING_COUNT_ONE);
    bool mine = (word & J9_TID) == self->tid_field;
    if (mine && (word & J9_LEARNING_COUNT) != J9_LEARNING_COUNT)
        return j9_learn(obj, word);
    /* another thread's, or the count is full */
    bool free = j9_holds(word) == 0;
    bool changed = cas_acq_u32(&obj->lock_word, word, free ? self->tid_field : j9_flat_word(word));
    if (changed)
        j9_count_cancelled();
    return changed && free;
}

/* Acquires a lock in any state. */
LOCK_SLOW lock_result_t j9_reservation_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word;
    for (;;) {
        word = load_rlx_u32(&obj->lock_word);
        if (j9_is_learning(word)) {
            if (j9_acquire_learning(obj, self, word))
                return SUCCESS;
        } else if (word == J9_RESERVED) {
            if (cas_acq_u32(&obj->lock_word, word, word | self->tid_field | J9_COUNT_ONE)) {
                j9_count_reserved();
                return SUCCESS;
            }
        } else if (j9_is_reserved(word)) { /* for another thread, or its count is full */
            j9_cancel(obj, self, &lock_threads[(word >> 8) - 1]);
        } else {
            break;
        }
    }
    if (word == 0 && cas_acq_u32(&obj->lock_word, 0, self->tid_field))
        return SUCCESS;
    return j9_acquire_slow(obj, self);
}

static inline lock_result_t j9_reservation_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word); /* the unsafe region begins */
    if (LOCK_LIKELY(j9_is_reserved_for(word, self) && (word & J9_COUNT) != J9_COUNT)) {
        store_rlx_u32(&obj->lock_word, word + J9_COUNT_ONE); /* and ends */
        order_compiler();
        return SUCCESS;
    }
    if (word == 0 && LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid_field)))
        return SUCCESS;
    return j9_reservation_acquire_slow(obj, self);
}

/* Any release but that of a reserved lock. */
LOCK_SLOW lock_result_t j9_release_learning(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    while (j9_is_learning(word)) {
        if ((word & J9_TID) != self->tid_field || j9_holds(word) == 0)
            return ILLEGAL_STATE;
        if (cas_acq_rel_u32(&obj->lock_word, word, word - J9_LEARNING_COUNT_ONE))
            return SUCCESS;
        word = load_rlx_u32(&obj->lock_word);
    }
    return j9_is_reserved(word) ? ILLEGAL_STATE : j9_release_slow(obj, self);
}

static inline lock_result_t j9_reservation_release(lock_object_t *obj, lock_thread_t *self) {
    order_compiler();
    uint32_t word = load_rlx_u32(&obj->lock_word); /* the unsafe region begins */
    if (LOCK_LIKELY(j9_is_reserved_for(word, self) && (word & J9_COUNT) != 0)) {
        store_rlx_u32(&obj->lock_word, word - J9_COUNT_ONE); /* and ends */
        return SUCCESS;
    }
    if (word & (J9_LEARNING | J9_RESERVED))
        return j9_release_learning(obj, self);
    return j9_release(obj, self, word);
}

/* Whether `self` holds the lock, which the word says is learning or reserved. */
static inline bool j9_holds_unlearned(uint32_t word, const lock_thread_t *self) {
    return (word & J9_TID) == self->tid_field && j9_holds(word) != 0;
}

LOCK_SLOW lock_result_t j9_reservation_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word;
    while (j9_is_learning(word = load_rlx_u32(&obj->lock_word)) || j9_is_reserved(word)) {
        if (!j9_holds_unlearned(word, self))
            return ILLEGAL_STATE;
        if (j9_is_reserved(word))
            j9_cancel(obj, self, self);
        else
            cas_rlx_u32(&obj->lock_word, word, j9_flat_word(word));
    }
    return j9_wait(obj, self);
}

/* In these states nobody can be waiting. */
static inline lock_result_t j9_reservation_notify(lock_object_t *obj, lock_thread_t *self,
                                                  uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (j9_is_learning(word) || j9_is_reserved(word))
        return j9_holds_unlearned(word, self) ? SUCCESS : ILLEGAL_STATE;
    return j9_notify(obj, self, limit);
}

static inline bool j9_reservation_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return j9_is_learning(word) || j9_is_reserved(word) ? j9_holds(word) == 0 : j9_is_idle(obj);
}

#endif
