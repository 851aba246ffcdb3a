/*
 * thin: the thin lock of Bacon et al. 1998, section 2; Kawachiya 2005, section 4.3, Figure 4.4.
 *
 * Flat, the lock is acquired by one CAS that puts the thread's identifier into a zero field, and
 * released by a store: only the holder ever changes the word. The holder counts its nested
 * acquisitions in the word. A contender spins until it can acquire the flat lock itself, then
 * inflates it: from then on, for ever, the word names a suspend monitor. A nest count that is full
 * and a wait inflate too.
 *
 *    31 30           16 15        8 7        0
 *   +--+---------------+-----------+----------+
 *   |0 | tid           | count     | misc     |   flat; count = acquisitions - 1
 *   +--+---------------+-----------+----------+
 *   |1 | monitor index (23 bits)   | misc     |   inflated
 *   +--+---------------------------+----------+
 *   shape
 *
 * The order of tests is the paper's: the CAS first, then the nested case (2.3.1, 2.3.3). The misc
 * bits belong to others and are preserved. Where the sources are silent: the inflation loop spins
 * on loads with cpu_relax between its attempts.
 */
#ifndef LOCKCROSS_THIN_H
#define LOCKCROSS_THIN_H

#include "monitor/monitor_table.h"

#define THIN_SHAPE 0x80000000u
#define THIN_COUNT 0x0000ff00u
#define THIN_COUNT_ONE 0x00000100u
#define THIN_MISC 0x000000ffu
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & THIN_SHAPE) != 0)

enum { thin_initial_word = 0, thin_tid_shift = 16, thin_misc_mask = THIN_MISC };

static inline monitor_t *thin_monitor(uint32_t word) {
    return monitor_at((word & ~THIN_SHAPE) >> 8);
}

/* Whether the word says: flat, and held by `self`. */
static inline bool thin_is_mine(uint32_t word, const lock_thread_t *self) {
    return ((word ^ self->tid_field) & ~(THIN_COUNT | THIN_MISC)) == 0;
}

/* With the flat lock held by `self`: from now on it is a monitor, entered `holds` times. */
LOCK_SLOW monitor_t *thin_inflate(lock_object_t *obj, lock_thread_t *self, uint32_t holds) {
    monitor_t *monitor = lookup_monitor(obj);
    monitor_enter(monitor, self);
    monitor->recursion = holds;
    uint32_t misc = load_rlx_u32(&obj->lock_word) & THIN_MISC;
    store_rel_u32(&obj->lock_word, THIN_SHAPE | monitor->index << 8 | misc);
    return monitor;
}

LOCK_SLOW lock_result_t thin_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (thin_is_mine(word, self)) { /* the count is full */
        thin_inflate(obj, self, ((word & THIN_COUNT) >> 8) + 2);
        return SUCCESS;
    }
    while (!(word & THIN_SHAPE)) {
        if ((word & ~THIN_MISC) == 0 &&
            cas_acq_u32(&obj->lock_word, word, word | self->tid_field)) {
            thin_inflate(obj, self, 1);
            return SUCCESS;
        }
        cpu_relax();
        word = load_acq_u32(&obj->lock_word);
    }
    monitor_enter(thin_monitor(word), self);
    return SUCCESS;
}

static inline lock_result_t thin_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t misc = load_rlx_u32(&obj->lock_word) & THIN_MISC;
    if (LOCK_LIKELY(cas_acq_u32(&obj->lock_word, misc, misc | self->tid_field)))
        return SUCCESS;
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if ((word ^ self->tid_field) < THIN_COUNT) { /* held by me, and the count is not full */
        store_rlx_u32(&obj->lock_word, word + THIN_COUNT_ONE);
        return SUCCESS;
    }
    return thin_acquire_slow(obj, self);
}

LOCK_SLOW lock_result_t thin_release_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & THIN_SHAPE ? monitor_exit(thin_monitor(word), self) : ILLEGAL_STATE;
}

static inline lock_result_t thin_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    uint32_t mine = word ^ self->tid_field;
    if (LOCK_LIKELY(mine <= THIN_MISC)) {
        store_rel_u32(&obj->lock_word, mine);
        return SUCCESS;
    }
    if (mine <= (THIN_COUNT | THIN_MISC)) {
        store_rlx_u32(&obj->lock_word, word - THIN_COUNT_ONE);
        return SUCCESS;
    }
    return thin_release_slow(obj, self);
}

LOCK_SLOW lock_result_t thin_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & THIN_SHAPE)
        return monitor_wait(thin_monitor(word), self);
    if (!thin_is_mine(word, self))
        return ILLEGAL_STATE;
    return monitor_wait(thin_inflate(obj, self, ((word & THIN_COUNT) >> 8) + 1), self);
}

/* Flat, nobody can be waiting. */
static inline lock_result_t thin_notify_some(lock_object_t *obj, lock_thread_t *self,
                                             uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & THIN_SHAPE)
        return monitor_notify(thin_monitor(word), self, limit);
    return thin_is_mine(word, self) ? SUCCESS : ILLEGAL_STATE;
}

static inline lock_result_t thin_notify(lock_object_t *obj, lock_thread_t *self) {
    return thin_notify_some(obj, self, 1);
}

static inline lock_result_t thin_notify_all(lock_object_t *obj, lock_thread_t *self) {
    return thin_notify_some(obj, self, MONITOR_NOTIFY_ALL);
}

static inline bool thin_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & THIN_SHAPE ? monitor_is_idle(thin_monitor(word)) : (word & ~THIN_MISC) == 0;
}

#endif
