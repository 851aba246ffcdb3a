/*
 * meta: the meta-lock of Agesen, Detlefs, Garthwaite, Knippel, Ramakrishna and White 1999, "An
 * Efficient Meta-lock for Implementing Ubiquitous Synchronization"; Kawachiya 2005, section 7.4.
 *
 * Two bits of a header word hold the state of the lock; the other 30 hold the word's own bits
 * (neutral) or the number of a lock record, which then keeps these bits. Lock records, one for each
 * thread and object, form a list: the owner's first, then those that wait. State and list change
 * only under the meta-lock. A thread gets the meta-lock by swapping in itself and BUSY. What it
 * gets in return is the word, or the thread before it in a queue, which hands the word over. It
 * lets go by a CAS of the new word; if that fails, there is a successor, to which it hands the
 * word. The paper's extra-fast path, uncontended, needs no meta-lock: one CAS from neutral to
 * locked, one CAS back.
 *
 *    31                             2 1    0
 *   +--------------------------------+------+
 *   | the word's own bits            | 00   |   NEUTRAL: not held, nobody waits
 *   | the owner's record             | 01   |   LOCKED: held, nobody waits
 *   | the first record               | 10   |   WAITERS: the list is longer, or has no owner
 *   | tid of the last in the queue   | 11   |   BUSY: meta-locked
 *   +--------------------------------+------+
 *
 * As in the paper, a thread that arrives has the same chance as one that was woken. Choices made
 * here: threads hand over by spinning, each on its own word, where the paper has a mutex and a
 * condition for each thread, since the meta-lock is held only briefly. While nobody waits, the
 * number of the record identifies a nested acquisition without the meta-lock. Release wakes the
 * first record that waits to enter; notify makes records that wait for a notification wait to
 * enter, longest first.
 */
#ifndef LOCKCROSS_META_H
#define LOCKCROSS_META_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "parts/record_pool.h"
#include "types.h"

enum { META_NEUTRAL = 0, META_LOCKED = 1, META_WAITERS = 2, META_BUSY = 3, META_STATE = 3 };
#define META_NUMBER_SHIFT 2

/* What a record's thread does. OWNER: holds the lock. PARKED: waits to enter. WOKEN: is no longer
 * parked. WAITING: waits for a notification. */
typedef enum { META_OWNER, META_PARKED, META_WOKEN, META_WAITING } meta_role_t;

/* A lock record. All but `holds` is used under the meta-lock, or by its owner's extra-fast path. */
typedef struct {
    uint32_t holds;     /* acquisitions of its thread */
    uint32_t displaced; /* of the first record: the word's own bits */
    uint32_t next;      /* number of the next record, or 0 */
    meta_role_t role;
} __attribute__((aligned(LOCK_LINE))) record_t;

RECORD_POOL(record_t)

/* By thread: the word that it hands to its successor in the queue for BUSY. */
typedef struct {
    volatile uint32_t full; /* set by this thread, cleared by its successor */
    uint32_t word;
} __attribute__((aligned(LOCK_LINE))) meta_hand_t;

extern meta_hand_t meta_hands[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
meta_hand_t meta_hands[LOCK_MAX_THREADS];
#endif

enum {
    meta_initial_word = META_NEUTRAL,
    meta_tid_shift = META_NUMBER_SHIFT,
    meta_misc_mask = ~META_STATE
};

static inline uint32_t meta_number(uint32_t word) { return word >> META_NUMBER_SHIFT; }

static inline uint32_t meta_word(uint32_t number, uint32_t state) {
    return number << META_NUMBER_SHIFT | state;
}

/* What the diagram allows: a locked word has a record, a busy one a thread. */
static inline bool meta_word_is_valid(uint32_t word) {
    uint32_t state = word & META_STATE;
    uint32_t most = state == META_BUSY ? LOCK_MAX_THREADS : LOCK_MAX_THREADS * RECORDS_EACH;
    return state == META_NEUTRAL || meta_number(word) - 1 < most;
}
#define LOCK_WORD_IS_VALID(word) meta_word_is_valid(word)

/* Gets the meta-lock; returns the word. */
static inline uint32_t meta_lock(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = swap_acq_rel_u32(&obj->lock_word, self->tid_field | META_BUSY);
    if (LOCK_LIKELY((word & META_STATE) != META_BUSY))
        return word;
    meta_hand_t *hand = &meta_hands[meta_number(word) - 1];
    while (load_acq_u32(&hand->full) == 0)
        spin_wait(self);
    word = hand->word;
    store_rel_u32(&hand->full, 0);
    return word;
}

/* Lets go of the meta-lock, and makes `word` the word. */
static inline void meta_unlock(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    if (LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, self->tid_field | META_BUSY, word)))
        return;
    meta_hand_t *hand = &meta_hands[self->tid - 1];
    hand->word = word;
    store_rel_u32(&hand->full, 1);
    while (load_acq_u32(&hand->full) != 0)
        spin_wait(self);
}

/* Takes a record of `self`, which is in no list; returns its number. */
static inline uint32_t meta_take_record(const lock_thread_t *self, uint32_t displaced) {
    uint32_t number = record_take(self);
    record_t *record = record_at(number);
    record->holds = 1;
    record->displaced = displaced;
    record->next = 0;
    record->role = META_OWNER;
    return number;
}

/* The functions from here to meta_is_mine are called with the meta-lock held; `first` is the number
 * of the list's first record, or 0. */

/* Takes a record out of the list; returns the new first record. */
static inline uint32_t meta_remove(uint32_t first, uint32_t number) {
    uint32_t next = record_at(number)->next;
    if (first == number) {
        if (next)
            record_at(next)->displaced = record_at(number)->displaced;
        return next;
    }
    uint32_t at = first;
    while (record_at(at)->next != number)
        at = record_at(at)->next;
    record_at(at)->next = next;
    return first;
}

/* Puts a record at the list's end; returns the first record. */
static inline uint32_t meta_append(uint32_t first, uint32_t number) {
    record_at(number)->next = 0;
    if (!first)
        return number;
    uint32_t at = first;
    while (record_at(at)->next)
        at = record_at(at)->next;
    record_at(at)->next = number;
    return first;
}

/* The record to wake when the owner leaves; 0 if there is none or one is awake already. */
static inline uint32_t meta_choose_successor(uint32_t first) {
    for (uint32_t at = first; at; at = record_at(at)->next) {
        if (record_at(at)->role == META_WOKEN)
            return 0;
        if (record_at(at)->role == META_PARKED) {
            record_at(at)->role = META_WOKEN;
            return at;
        }
    }
    return 0;
}

/* Whether the word says that `self` holds the lock. */
static inline bool meta_is_mine(uint32_t word, const lock_thread_t *self) {
    return (word & META_STATE) != META_NEUTRAL && record_is_mine(meta_number(word), self) &&
           record_at(meta_number(word))->role == META_OWNER;
}

/* Without the meta-lock: wakes the thread of a record, unless its number is 0. */
static inline void meta_wake(uint32_t number) {
    if (number)
        unpark(&lock_threads[(number - 1) / RECORDS_EACH]);
}

/* Acquires. `number`: the record that `self` has in the list already, or 0. */
LOCK_SLOW lock_result_t meta_enter(lock_object_t *obj, lock_thread_t *self, uint32_t number) {
    for (;;) {
        uint32_t word = meta_lock(obj, self);
        uint32_t first = meta_number(word);
        if ((word & META_STATE) == META_NEUTRAL) {
            meta_unlock(obj, self, meta_word(meta_take_record(self, word), META_LOCKED));
            return SUCCESS;
        }
        if (meta_is_mine(word, self)) {
            record_at(first)->holds++;
            meta_unlock(obj, self, word);
            return SUCCESS;
        }
        if (record_at(first)->role != META_OWNER) {
            uint32_t displaced = record_at(first)->displaced;
            if (number)
                first = meta_remove(first, number);
            else
                number = meta_take_record(self, 0);
            record_at(number)->displaced = displaced;
            record_at(number)->next = first;
            record_at(number)->role = META_OWNER;
            meta_unlock(obj, self, meta_word(number, first ? META_WAITERS : META_LOCKED));
            return SUCCESS;
        }
        if (!number)
            meta_append(first, number = meta_take_record(self, 0));
        record_at(number)->role = META_PARKED;
        meta_unlock(obj, self, meta_word(first, META_WAITERS));
        park(self);
    }
}

static inline lock_result_t meta_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (LOCK_LIKELY((word & META_STATE) == META_NEUTRAL)) {
        uint32_t number = meta_take_record(self, word);
        if (LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, word, meta_word(number, META_LOCKED))))
            return SUCCESS;
        record_at(number)->holds = 0;
    } else if ((word & META_STATE) == META_LOCKED && record_is_mine(meta_number(word), self)) {
        record_at(meta_number(word))->holds++;
        return SUCCESS;
    }
    return meta_enter(obj, self, 0);
}

LOCK_SLOW lock_result_t meta_release_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = meta_lock(obj, self);
    if (!meta_is_mine(word, self)) {
        meta_unlock(obj, self, word);
        return ILLEGAL_STATE;
    }
    uint32_t number = meta_number(word), successor = 0;
    record_t *record = record_at(number);
    if (--record->holds == 0) {
        uint32_t first = meta_remove(number, number);
        successor = meta_choose_successor(first);
        word = first ? meta_word(first, META_WAITERS) : record->displaced;
    }
    meta_unlock(obj, self, word);
    meta_wake(successor);
    return SUCCESS;
}

static inline lock_result_t meta_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (LOCK_LIKELY((word & META_STATE) == META_LOCKED) &&
        LOCK_LIKELY(record_is_mine(meta_number(word), self))) {
        record_t *record = record_at(meta_number(word));
        if (!LOCK_LIKELY(record->holds == 1)) {
            record->holds--;
            return SUCCESS;
        }
        if (LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, word, record->displaced))) {
            record->holds = 0;
            return SUCCESS;
        }
    }
    return meta_release_slow(obj, self);
}

LOCK_SLOW lock_result_t meta_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = meta_lock(obj, self);
    if (!meta_is_mine(word, self)) {
        meta_unlock(obj, self, word);
        return ILLEGAL_STATE;
    }
    uint32_t number = meta_number(word);
    uint32_t first = meta_append(meta_remove(number, number), number);
    record_at(number)->role = META_WAITING;
    uint32_t successor = meta_choose_successor(first);
    meta_unlock(obj, self, meta_word(first, META_WAITERS));
    meta_wake(successor);
    park(self); /* until notify has made it wait to enter and a release has woken it */
    return meta_enter(obj, self, number);
}

LOCK_SLOW lock_result_t meta_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    uint32_t word = meta_lock(obj, self);
    bool mine = meta_is_mine(word, self);
    for (uint32_t at = mine ? meta_number(word) : 0; at && limit > 0; at = record_at(at)->next) {
        if (record_at(at)->role == META_WAITING) {
            record_at(at)->role = META_PARKED;
            limit--;
        }
    }
    meta_unlock(obj, self, word);
    return mine ? SUCCESS : ILLEGAL_STATE;
}

static inline bool meta_is_idle(lock_object_t *obj) {
    return (obj->lock_word & META_STATE) == META_NEUTRAL;
}

#endif
