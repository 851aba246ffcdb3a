/*
 * Stack locking: all of hotspot_stack.h, which says how it works and has a diagram of the word, and
 * what biased.h falls back on. A header that needs some of the misc bits for itself defines
 * STACK_MISC before it includes this one.
 */
#ifndef LOCKCROSS_STACK_LOCK_H
#define LOCKCROSS_STACK_LOCK_H

#define OBJECT_MONITOR_SPINS SMALL_IN_MODEL(5000u, 0u) /* models have it in hotspot_light */
#ifndef RECORDS_EACH
#define RECORDS_EACH SMALL_IN_MODEL(16u, 4u) /* a nested acquisition looks for one, too */
#endif

#include <stdbool.h>
#include <stdint.h>

#include "parts/object_monitor.h" /* first, since it declares a part of each monitor */

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/processor.h"
#include "parts/record_pool.h"
#include "types.h"

enum { STACK_FLAT = 0, STACK_FREE = 1, STACK_INFLATED = 2, STACK_STATE = 3 };
#define STACK_INFLATING 0u
#ifndef STACK_MISC
#define STACK_MISC 0x000000fcu
#endif
#define STACK_INDEX_SHIFT 8
#define STACK_NUMBER_SHIFT 2
#define STACK_OWNER 0x80000000u /* of a monitor: the rest is the number of a record */

/* A place in a frame. */
typedef struct {
    uint32_t holds;     /* acquisitions of its thread */
    uint32_t displaced; /* the header word, while the lock word refers to this */
} __attribute__((aligned(LOCK_LINE))) record_t;

RECORD_POOL(record_t)

/* What the diagram allows. */
static inline bool stack_word_is_valid(uint32_t word) {
    if ((word & STACK_STATE) == STACK_FLAT)
        return word >> STACK_NUMBER_SHIFT <= LOCK_MAX_THREADS * RECORDS_EACH;
    uint32_t index = word >> STACK_INDEX_SHIFT;
    return (word & STACK_STATE) == STACK_FREE
               ? index == 0
               : (word & STACK_STATE) == STACK_INFLATED && index - 1 < MONITOR_POOL_SIZE;
}

/* The number of a record of `self` that the word refers to, or 0. */
static inline uint32_t stack_mine(uint32_t word, const lock_thread_t *self) {
    uint32_t number = word >> STACK_NUMBER_SHIFT;
    return (word & STACK_STATE) == STACK_FLAT && record_is_mine(number, self) ? number : 0;
}

/* Whether the word says that the lock is free, or held flat by another thread. */
static inline bool stack_is_not_mine(uint32_t word, const lock_thread_t *self) {
    return !(word & STACK_INFLATED) && word != STACK_INFLATING && stack_mine(word, self) == 0;
}

static inline monitor_t *stack_monitor(uint32_t word) {
    return monitor_at(word >> STACK_INDEX_SHIFT);
}

/* The monitor of an inflated lock. If a record of `self` owns it, `self` does then. */
static inline monitor_t *stack_claimed_monitor(uint32_t word, lock_thread_t *self) {
    monitor_t *monitor = stack_monitor(word);
    uint32_t owner = load_rlx_u32(&monitor->owner);
    if (owner & STACK_OWNER && record_is_mine(owner & ~STACK_OWNER, self)) {
        record_t *record = record_at(owner & ~STACK_OWNER);
        object_monitor_claim(monitor, self, record->holds);
        record->holds = 0;
    }
    return monitor;
}

static inline uint32_t stack_inflated_word(const monitor_t *monitor, uint32_t header) {
    return monitor->index << STACK_INDEX_SHIFT | (header & STACK_MISC) | STACK_INFLATED;
}

/* With the word INFLATING by `self`: what it referred to becomes the owner of the monitor. */
static inline void stack_inflate_flat(lock_object_t *obj, monitor_t *monitor, uint32_t word) {
    uint32_t number = word >> STACK_NUMBER_SHIFT;
    store_rlx_u32(&monitor->owner, STACK_OWNER | number);
    store_rel_u32(&obj->lock_word, stack_inflated_word(monitor, record_at(number)->displaced));
}

/* Inflates a lock, unless another thread does, and returns its monitor; NULL if it was free: then
 * `self` holds it now. */
LOCK_SLOW monitor_t *stack_inflate(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = lookup_monitor(obj);
    for (;;) {
        uint32_t word = load_acq_u32(&obj->lock_word);
        if (word & STACK_INFLATED)
            return stack_claimed_monitor(word, self);
        if (word == STACK_INFLATING) {
            spin_wait(self);
        } else if (word & STACK_FREE) {
            if (cas_acq_u32(&obj->lock_word, word, stack_inflated_word(monitor, word))) {
                object_monitor_claim(monitor, self, 1);
                return 0;
            }
        } else if (cas_acq_u32(&obj->lock_word, word, STACK_INFLATING)) {
            stack_inflate_flat(obj, monitor, word);
        }
    }
}

LOCK_SLOW lock_result_t stack_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = stack_inflate(obj, self);
    if (monitor && !object_monitor_enter_at_once(monitor, self))
        object_monitor_enter(monitor, self);
    return SUCCESS;
}

/* Acquires a lock that is inflated. */
LOCK_SLOW lock_result_t stack_acquire_inflated(lock_object_t *obj, lock_thread_t *self,
                                               uint32_t word) {
    if (LOCK_LIKELY(object_monitor_enter_at_once(stack_monitor(word), self)))
        return SUCCESS;
    return stack_acquire_slow(obj, self);
}

/* A record of `self` that is not in use: mostly the first, in a nested acquisition the second. */
static inline uint32_t stack_take_record(const lock_thread_t *self) {
    uint32_t first = (self->tid - 1) * RECORDS_EACH + 1;
    return LOCK_LIKELY(record_at(first)->holds == 0)       ? first
           : LOCK_LIKELY(record_at(first + 1)->holds == 0) ? first + 1
                                                           : record_take(self);
}

/* Acquires, given the lock word just loaded. */
static inline lock_result_t stack_acquire(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    if (!LOCK_LIKELY(!(word & STACK_INFLATED)))
        return stack_acquire_inflated(obj, self, word);
    uint32_t number = stack_take_record(self), header = (word & STACK_MISC) | STACK_FREE;
    record_at(number)->displaced = header;
    if (LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, header, number << STACK_NUMBER_SHIFT))) {
        record_at(number)->holds = 1;
        return SUCCESS;
    }
    if ((number = stack_mine(load_rlx_u32(&obj->lock_word), self)) == 0)
        return stack_acquire_slow(obj, self);
    record_at(number)->holds++;
    return SUCCESS;
}

LOCK_SLOW lock_result_t stack_release_slow(lock_object_t *obj, lock_thread_t *self) {
    if (stack_is_not_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    return object_monitor_exit(stack_inflate(obj, self), self);
}

/* Releases a lock that is inflated, or not held flat by `self`. */
LOCK_SLOW lock_result_t stack_release_inflated(lock_object_t *obj, lock_thread_t *self,
                                               uint32_t word) {
    if (word & STACK_INFLATED && LOCK_LIKELY(object_monitor_held_by(stack_monitor(word), self)))
        return object_monitor_exit(stack_monitor(word), self);
    return stack_release_slow(obj, self);
}

/* Releases, given the lock word just loaded. */
static inline lock_result_t stack_release(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    uint32_t number = stack_mine(word, self);
    if (!LOCK_LIKELY(number != 0))
        return stack_release_inflated(obj, self, word);
    record_t *record = record_at(number);
    if (!LOCK_LIKELY(record->holds == 1)) {
        record->holds--;
        return SUCCESS;
    }
    if (!LOCK_LIKELY(cas_rel_u32(&obj->lock_word, word, record->displaced)))
        return stack_release_slow(obj, self);
    record->holds = 0;
    return SUCCESS;
}

LOCK_SLOW lock_result_t stack_wait(lock_object_t *obj, lock_thread_t *self) {
    if (stack_is_not_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    return object_monitor_wait(stack_inflate(obj, self), self);
}

/* Flat, nobody can be waiting for a notification. */
static inline lock_result_t stack_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (stack_mine(word, self))
        return SUCCESS;
    if (stack_is_not_mine(word, self))
        return ILLEGAL_STATE;
    return object_monitor_notify(stack_inflate(obj, self), self, limit);
}

static inline bool stack_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & STACK_INFLATED ? object_monitor_is_idle(stack_monitor(word))
                                 : (word & STACK_STATE) == STACK_FREE;
}

#endif
