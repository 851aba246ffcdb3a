/*
 * to_lock: TO-Lock, Ogasawara, Komatsu and Nakatani 2004, "TO-Lock: Removing Lock Overhead Using
 * the Owners' Temporal Locality"; Kawachiya 2005, section 7.4.
 *
 * The lock is reserved for its owner, which acquires and releases it with simple instructions. A
 * reservation is neither cancelled, as in reservation.h, nor permanent, as in asym_tasuki.h: the
 * thread that comes next becomes the owner. The paper could not be obtained. The abstract,
 * sentences of Kawachiya's and the claims of the patent application (US 2006/0090168) say this
 * much: the owner compares the owner's identifier with its own, raises a flag, and checks again
 * whether the ownership has gone; another thread announces that the ownership is to end, waits
 * until the owner is outside, and then makes itself the owner with a CAS. The rest is a
 * reconstruction.
 *
 *    31 30           16 15         8 7        0
 *   +--+---------------+------------+----------+
 *   |0 | owner         | successor  | misc     |   flat; owner 0: not acquired yet
 *   +--+---------------+------------+----------+
 *   |1 | monitor index (23 bits)    | misc     |   inflated (named_monitor.h)
 *   +--+----------------------------+----------+
 *   shape        extra: for each tid a byte, how often that thread holds the flat lock
 *
 * The owner stores 1 into its byte, then loads the word (the fence kind orders this): if it still
 * is the owner and has no successor, it is in. Another thread makes itself the successor by a CAS,
 * then loads the owner's byte until it is zero. Then it is the owner and is in, if the word still
 * names it as the successor. Each thread has a byte of its own, since the store of a thread that is
 * no longer the owner may come late and must not touch the new owner's count. A migration costs one
 * CAS and the full fence; nobody is stopped.
 *
 * Choices where the sources are silent: a successor that had to wait has met contention and
 * inflates the lock, so that the next thread parks; a full byte and a wait inflate it too. The
 * monitor is deflated as in tasuki, and its last holder becomes the owner.
 */
#ifndef LOCKCROSS_TO_LOCK_H
#define LOCKCROSS_TO_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/processor.h"
#include "parts/named_monitor.h"
#include "types.h"

#define TO_OWNER_SHIFT 16
#define TO_SUCCESSOR_SHIFT 8
#define TO_SUCCESSOR 0x0000ff00u
#define TO_HOLDS_MAX 0xffu

enum {
    to_lock_initial_word = 0,
    to_lock_tid_shift = TO_OWNER_SHIFT,
    to_lock_misc_mask = NAMED_MISC
};

/* What the diagram allows: a monitor of the pool, or an owner and a successor that is another. */
static inline bool to_lock_word_is_valid(uint32_t word) {
    if (word & NAMED_SHAPE)
        return ((word & ~NAMED_SHAPE) >> 8) - 1 < MONITOR_POOL_SIZE;
    uint32_t owner = word >> TO_OWNER_SHIFT;
    uint32_t successor = (word & TO_SUCCESSOR) >> TO_SUCCESSOR_SHIFT;
    return owner <= LOCK_MAX_THREADS && successor <= LOCK_MAX_THREADS &&
           (successor == 0 || successor != owner);
}
#define LOCK_WORD_IS_VALID(word) to_lock_word_is_valid(word)

static inline volatile uint8_t *to_lock_holds(lock_object_t *obj, uint32_t tid) {
    return (volatile uint8_t *)obj->extra + (tid - 1);
}

/* Whether the word says: flat, owned by `self`, and no successor. */
static inline bool to_lock_is_owner(uint32_t word, const lock_thread_t *self) {
    return ((word ^ self->tid_field) & ~NAMED_MISC) == 0;
}

/* One attempt of the owner, which does not hold the lock. */
static inline bool to_lock_try_owner(lock_object_t *obj, lock_thread_t *self) {
    volatile uint8_t *holds = to_lock_holds(obj, self->tid);
    if (LOCK_LIKELY(
            to_lock_is_owner(store_u8_then_load_other_acq_u32(holds, 1, &obj->lock_word), self)))
        return true;
    store_rlx_u8(holds, 0);
    return false;
}

/* With the flat lock held by `self`, in its byte or as a successor whose turn it is: makes it a
 * monitor, entered `count` times. */
LOCK_SLOW monitor_t *to_lock_inflate(lock_object_t *obj, lock_thread_t *self, uint32_t count) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    store_rlx_u32(&monitor->holder, self->tid);
    monitor->recursion = count;
    store_rel_u32(&obj->lock_word, named_word(monitor, load_rlx_u32(&obj->lock_word)));
    latch_release(&monitor->latch);
    store_rel_u8(to_lock_holds(obj, self->tid), 0); /* a successor checks the word again */
    return monitor;
}

/* `self` is the successor, as in the word `claim`: waits until the owner is outside. Fails if the
 * owner inflates meanwhile, which removes the successor from the word; by then the lock may be flat
 * again, and another thread's. `contended`: `self` had to wait. */
static inline bool to_lock_await_owner(lock_object_t *obj, lock_thread_t *self, uint32_t claim,
                                       bool *contended) {
    uint32_t owner = claim >> TO_OWNER_SHIFT;
    for (*contended = false;; *contended = true, spin_wait(self)) {
        bool outside = owner == 0 || load_acq_u8(to_lock_holds(obj, owner)) == 0;
        if (((load_acq_u32(&obj->lock_word) ^ claim) & ~NAMED_MISC) != 0)
            return false;
        if (outside)
            return true;
    }
}

/* Moves the ownership to `self`, which then has the lock. Fails if the word, which has no
 * successor, has changed, or if the owner inflates. */
static inline bool to_lock_migrate(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    uint32_t claim = word | self->tid << TO_SUCCESSOR_SHIFT;
    bool contended;
    if (!cas_then_fence_u32(&obj->lock_word, word, claim) ||
        !to_lock_await_owner(obj, self, claim, &contended))
        return false;
    if (contended) {
        to_lock_inflate(obj, self, 1);
    } else {
        store_rlx_u8(to_lock_holds(obj, self->tid), 1);
        store_rel_u32(&obj->lock_word, self->tid_field | (word & NAMED_MISC));
    }
    return true;
}

/* One attempt of a thread that does not hold the lock, given the lock word just loaded. It may wait
 * and fail. */
static inline bool to_lock_try_acquire(lock_object_t *obj, lock_thread_t *self, uint32_t word,
                                       bool waited) {
    if (word & NAMED_SHAPE) {
        monitor_t *monitor = named_monitor(word);
        latch_acquire(&monitor->latch);
        if (load_acq_u32(&obj->lock_word) & NAMED_SHAPE)
            return named_take(monitor, self, waited);
        latch_release(&monitor->latch);
        return false;
    }
    if (word & TO_SUCCESSOR) {
        spin_wait(self);
        return false;
    }
    if (to_lock_is_owner(word, self))
        return to_lock_try_owner(obj, self);
    return to_lock_migrate(obj, self, word);
}

LOCK_SLOW lock_result_t to_lock_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    volatile uint8_t *holds = to_lock_holds(obj, self->tid);
    if (load_rlx_u8(holds) == TO_HOLDS_MAX)
        to_lock_inflate(obj, self, TO_HOLDS_MAX);
    if (load_rlx_u8(holds) != 0) {
        store_rlx_u8(holds, load_rlx_u8(holds) + 1);
        return SUCCESS;
    }
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (named_is_mine(word, self)) {
        named_monitor(word)->recursion++;
        return SUCCESS;
    }
    for (bool waited = false; !to_lock_try_acquire(obj, self, word, waited); waited = true)
        word = load_acq_u32(&obj->lock_word);
    return SUCCESS;
}

static inline lock_result_t to_lock_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(to_lock_is_owner(load_rlx_u32(&obj->lock_word), self))) {
        volatile uint8_t *holds = to_lock_holds(obj, self->tid);
        uint32_t count = load_rlx_u8(holds);
        if (LOCK_LIKELY(count == 0)) {
            if (LOCK_LIKELY(to_lock_try_owner(obj, self)))
                return SUCCESS;
        } else if (count != TO_HOLDS_MAX) {
            store_rlx_u8(holds, (uint8_t)(count + 1));
            return SUCCESS;
        }
    }
    return to_lock_acquire_slow(obj, self);
}

static inline lock_result_t to_lock_release(lock_object_t *obj, lock_thread_t *self) {
    volatile uint8_t *holds = to_lock_holds(obj, self->tid);
    uint32_t count = load_rlx_u8(holds);
    if (!LOCK_LIKELY(count != 0))
        return named_release(obj, self, self->tid_field);
    store_rel_u8(holds, (uint8_t)(count - 1));
    return SUCCESS;
}

LOCK_SLOW lock_result_t to_lock_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t holds = load_rlx_u8(to_lock_holds(obj, self->tid));
    if (holds != 0)
        return named_wait(to_lock_inflate(obj, self, holds), self);
    uint32_t word = load_acq_u32(&obj->lock_word);
    return named_is_mine(word, self) ? named_wait(named_monitor(word), self) : ILLEGAL_STATE;
}

/* Flat, nobody can be waiting for a notification. */
static inline lock_result_t to_lock_notify(lock_object_t *obj, lock_thread_t *self,
                                           uint32_t limit) {
    if (load_rlx_u8(to_lock_holds(obj, self->tid)) != 0)
        return SUCCESS;
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (!(word & NAMED_SHAPE))
        return ILLEGAL_STATE;
    return monitor_notify(named_monitor(word), self, limit);
}

static inline bool to_lock_is_idle(lock_object_t *obj) {
    for (int i = 0; i < to_lock_extra_words; i++) {
        if (obj->extra[i] != 0)
            return false;
    }
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & NAMED_SHAPE ? monitor_is_idle(named_monitor(word)) : !(word & TO_SUCCESSOR);
}

#endif
