/*
 * The flat lock of OpenJ9: all of j9_flat.h, which says how it works and has a diagram of the word,
 * and what j9_reservation.h falls back on. The including header defines tid_shift 8.
 */
#ifndef LOCKCROSS_J9_LOCK_H
#define LOCKCROSS_J9_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/processor.h"
#include "monitor/timed_park.h"
#include "parts/timed_monitor.h"
#include "types.h"

#define J9_INFLATED 0x00000001u
#define J9_FLC 0x00000002u
#define J9_COUNT 0x000000f0u
#define J9_COUNT_ONE 0x00000010u
#define J9_INDEX_SHIFT 8
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & J9_INFLATED) != 0)

/* Spinning before a contender waits: rounds with a yield between them, tries in each, and turns of
 * nothing behind each of these. */
#define J9_YIELDS SMALL_IN_MODEL(45u, 1u)
#define J9_TRIES SMALL_IN_MODEL(32u, 1u)
#define J9_TURNS_FLAT (ARCH_HAS_PRIORITIES ? 96u : 256u)
#define J9_TURNS_INFLATED 256u

#define J9_FIRST_WAIT MILLISECOND
#define J9_LONGEST_WAIT (64 * MILLISECOND)

/* What the diagram allows. */
static inline bool j9_word_is_valid(uint32_t word) {
    if (word & J9_INFLATED)
        return (word & 0xfe) == 0 && (word >> J9_INDEX_SHIFT) - 1 < MONITOR_POOL_SIZE;
    return word == 0 || (!(word & 0xc) && (word >> 8) - 1 < LOCK_MAX_THREADS);
}

/* Whether the word says: flat, and held by `self`. */
static inline bool j9_is_mine(uint32_t word, const lock_thread_t *self) {
    return ((word ^ self->tid_field) & ~(J9_COUNT | J9_FLC)) == 0;
}

static inline monitor_t *j9_monitor(uint32_t word) { return monitor_at(word >> J9_INDEX_SHIFT); }

static inline bool j9_try(lock_object_t *obj, const lock_thread_t *self) {
    return load_rlx_u32(&obj->lock_word) == 0 && cas_acq_u32(&obj->lock_word, 0, self->tid_field);
}

/* Turns the lock, which `self` holds flat as `word` says but for a mark, into the monitor. */
LOCK_SLOW monitor_t *j9_inflate(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    monitor_t *monitor = lookup_monitor(obj);
    monitor_enter(monitor, self);
    monitor->recursion = (word & J9_COUNT) / J9_COUNT_ONE + 1;
    store_rlx_u32(&obj->lock_word, monitor->index << J9_INDEX_SHIFT | J9_INFLATED);
    monitor_notify(monitor, self, MONITOR_NOTIFY_ALL);
    return monitor;
}

/* Between two tries. */
static inline void j9_pause(uint32_t turns) {
#ifdef LOCKCROSS_MODEL
    (void)turns;
#else
    cpu_relax();
    cpu_lower_priority();
    for (; turns != 0; turns--)
        cpu_nop();
    cpu_restore_priority();
#endif
}

/* Tries a lock that another thread holds: flat, until it is marked or inflated; inflated, if there
 * is a `monitor`. */
static inline bool j9_spin(lock_object_t *obj, lock_thread_t *self, monitor_t *monitor) {
    for (uint32_t yields = J9_YIELDS; yields != 0; yields--) {
        for (uint32_t tries = J9_TRIES; tries != 0; tries--) {
            if (monitor ? monitor_try_enter(monitor, self) : j9_try(obj, self))
                return true;
            if (!monitor && load_rlx_u32(&obj->lock_word) & (J9_FLC | J9_INFLATED))
                return false;
            j9_pause(monitor ? J9_TURNS_INFLATED : J9_TURNS_FLAT);
        }
        yield_to_others(self);
    }
    return false;
}

/* Marks a word that is held flat; returns the word as it is then. */
static inline uint32_t j9_mark(lock_object_t *obj) {
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if (word == 0 || word & (J9_FLC | J9_INFLATED))
            return word;
        if (cas_rlx_u32(&obj->lock_word, word, word | J9_FLC))
            return word | J9_FLC;
    }
}

/* Acquires the lock, which `self` does not hold, from within its monitor. */
LOCK_SLOW void j9_block(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = lookup_monitor(obj);
    monitor_enter(monitor, self);
    uint64_t limit = J9_FIRST_WAIT;
    uint32_t word;
    while (!((word = j9_mark(obj)) & J9_INFLATED)) {
        if (j9_try(obj, self)) {
            monitor_exit(monitor, self);
            store_rlx_u32(&obj->lock_word, load_rlx_u32(&obj->lock_word) | J9_FLC);
            return;
        }
        monitor_wait_for(monitor, self, limit, &obj->lock_word, word | J9_FLC);
        if (limit != J9_LONGEST_WAIT)
            limit *= 4;
    }
}

LOCK_SLOW lock_result_t j9_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & J9_INFLATED) {
        if (!j9_spin(obj, self, j9_monitor(word)))
            monitor_enter(j9_monitor(word), self);
    } else if (!j9_is_mine(word, self)) {
        if (!j9_spin(obj, self, 0))
            j9_block(obj, self);
    } else if ((word & J9_COUNT) != J9_COUNT) {
        store_rlx_u32(&obj->lock_word, word + J9_COUNT_ONE);
    } else {
        j9_inflate(obj, self, word)->recursion++;
    }
    return SUCCESS;
}

/* Any release but that of a flat lock that is held once and not marked. */
LOCK_SLOW lock_result_t j9_release_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & J9_INFLATED)
        return monitor_exit(j9_monitor(word), self);
    if (!j9_is_mine(word, self))
        return ILLEGAL_STATE;
    if (!(word & J9_COUNT)) /* so it is marked */
        return monitor_exit(j9_inflate(obj, self, word), self);
    store_rlx_u32(&obj->lock_word, word - J9_COUNT_ONE);
    return SUCCESS;
}

/* Releases, given the lock word just loaded. */
static inline lock_result_t j9_release(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    if (!LOCK_LIKELY(word == self->tid_field))
        return j9_release_slow(obj, self);
    store_rel_u32(&obj->lock_word, 0);
    return SUCCESS;
}

LOCK_SLOW lock_result_t j9_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & J9_INFLATED)
        return monitor_wait(j9_monitor(word), self);
    return j9_is_mine(word, self) ? monitor_wait(j9_inflate(obj, self, word), self) : ILLEGAL_STATE;
}

/* Flat, nobody can be waiting for a notification. */
static inline lock_result_t j9_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & J9_INFLATED)
        return monitor_notify(j9_monitor(word), self, limit);
    return j9_is_mine(word, self) ? SUCCESS : ILLEGAL_STATE;
}

static inline bool j9_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & J9_INFLATED ? monitor_is_idle(j9_monitor(word)) : word == 0;
}

#endif
