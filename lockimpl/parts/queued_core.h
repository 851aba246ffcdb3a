/*
 * A lock with a queue of parked threads: the base of the locks of Odaira and Hiraki (handover.h,
 * renouncement.h, tnp.h, tnp_selective.h), which their slides leave open.
 *
 * Uncontended, it takes one CAS of the lock word to acquire and one to release. A thread that finds
 * the lock held marks the word, under the latch of the object's monitor, puts itself into the
 * monitor's entry queue and parks; the release then finds more than its identifier in the word and
 * looks at the queue. Only the holder writes the flag word.
 *
 *    31  30                             0     31                         30         0
 *   +---+--------------------------------+   +---------------------------+------------+
 *   | Q | tid of the holder, or 0        |   | forbidden (tnp_selective) | recursions |
 *   +---+--------------------------------+   +---------------------------+------------+
 *    Q = the monitor has a queue
 *
 * It is the renouncement lock. A header that needs more defines before it includes this one:
 *   QUEUED_HANDOVER           1: a release gives the lock to the thread that it wakes
 *   QUEUED_ON_PARK(self)      keeps a statistic: evaluated when a thread is about to park
 */
#ifndef LOCKCROSS_QUEUED_CORE_H
#define LOCKCROSS_QUEUED_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "types.h"

#define QUEUED_QUEUE 0x80000000u
#define QUEUED_TID 0x7fffffffu
#define QUEUED_FORBIDDEN 0x80000000u

#ifndef QUEUED_HANDOVER
#define QUEUED_HANDOVER 0
#endif
#ifndef QUEUED_ON_PARK
#define QUEUED_ON_PARK(self) ((void)0)
#endif

#define LOCK_WORD_IS_VALID(word) (((word) & QUEUED_TID) <= LOCK_MAX_THREADS)

static inline bool queued_is_mine(uint32_t word, const lock_thread_t *self) {
    return (word & QUEUED_TID) == self->tid;
}

static inline uint32_t queued_bits(const monitor_t *monitor) {
    return monitor_has_queue(monitor) ? QUEUED_QUEUE : 0;
}

/* With the latch held, which it releases: takes the lock, after parking while another thread holds
 * it. A thread that was woken and lost returns to the head of the queue. */
static inline void queued_compete(lock_object_t *obj, monitor_t *monitor, lock_thread_t *self,
                                  bool was_queued) {
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if (QUEUED_HANDOVER && queued_is_mine(word, self))
            break;
        if ((word & QUEUED_TID) == 0) {
            if (cas_acq_u32(&obj->lock_word, word, word | self->tid))
                break;
            continue;
        }
        if (!cas_acq_u32(&obj->lock_word, word, word | QUEUED_QUEUE))
            continue;
        QUEUED_ON_PARK(self);
        monitor_queue_and_park(monitor, self, was_queued);
        latch_acquire(&monitor->latch);
        was_queued = true;
    }
    store_rlx_u32(&obj->lock_word, self->tid | queued_bits(monitor));
    latch_release(&monitor->latch);
}

LOCK_SLOW lock_result_t queued_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (queued_is_mine(word, self)) {
        store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) + 1);
        return SUCCESS;
    }
    if (word == 0 && cas_acq_u32(&obj->lock_word, 0, self->tid))
        return SUCCESS;
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    queued_compete(obj, monitor, self, false);
    return SUCCESS;
}

static inline lock_result_t queued_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == 0) &&
        LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid)))
        return SUCCESS;
    return queued_acquire_slow(obj, self);
}

/* With the latch held, which it releases: frees the lock or gives it to the next thread. */
static inline void queued_vacate(lock_object_t *obj, monitor_t *monitor) {
    lock_thread_t *next = queue_take(&monitor->entry);
    uint32_t bits = queued_bits(monitor);
    store_rel_u32(&obj->lock_word, QUEUED_HANDOVER && next ? bits | next->tid : bits);
    monitor_wake(monitor, next);
}

/* Gives up the lock, however deep. A queue is marked in its word, which only the holder clears. */
LOCK_SLOW void queued_release_marked(lock_object_t *obj) {
    store_rlx_u32(&obj->flag, 0);
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    queued_vacate(obj, monitor);
}

LOCK_SLOW lock_result_t queued_release_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t flag = load_rlx_u32(&obj->flag);
    if (!queued_is_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    if (flag & ~QUEUED_FORBIDDEN) {
        store_rlx_u32(&obj->flag, flag - 1);
        return SUCCESS;
    }
    queued_release_marked(obj);
    if (flag & QUEUED_FORBIDDEN)
        processor_permit_switch(self);
    return SUCCESS;
}

static inline lock_result_t queued_release(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == self->tid) &&
        LOCK_LIKELY(load_rlx_u32(&obj->flag) == 0) &&
        LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, self->tid, 0)))
        return SUCCESS;
    return queued_release_slow(obj, self);
}

LOCK_SLOW lock_result_t queued_wait(lock_object_t *obj, lock_thread_t *self) {
    if (!queued_is_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    uint32_t flag = load_rlx_u32(&obj->flag);
    store_rlx_u32(&obj->flag, 0);
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    queue_append(&monitor->waiting, self);
    queued_vacate(obj, monitor);
    park(self); /* until notify has put it into the entry queue and a release has taken it out */
    latch_acquire(&monitor->latch);
    queued_compete(obj, monitor, self, true);
    store_rlx_u32(&obj->flag, flag);
    return SUCCESS;
}

LOCK_SLOW lock_result_t queued_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!queued_is_mine(word, self))
        return ILLEGAL_STATE;
    if (!(word & QUEUED_QUEUE)) /* and so nobody waits */
        return SUCCESS;
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    for (; limit > 0; limit--) {
        if (!monitor_end_wait(monitor))
            break;
    }
    latch_release(&monitor->latch);
    return SUCCESS;
}

static inline bool queued_is_idle(lock_object_t *obj) {
    return load_rlx_u32(&obj->lock_word) == 0 && load_rlx_u32(&obj->flag) == 0;
}

/* What the locks take from here unchanged. */
#define QUEUED_JAVA(name)                                                                          \
    enum { name##_initial_word = 0, name##_tid_shift = 0, name##_misc_mask = 0 };                  \
    static inline lock_result_t name##_wait(lock_object_t *obj, lock_thread_t *self) {             \
        return queued_wait(obj, self);                                                             \
    }                                                                                              \
    static inline lock_result_t name##_notify(lock_object_t *obj, lock_thread_t *self,             \
                                              uint32_t limit) {                                    \
        return queued_notify(obj, self, limit);                                                    \
    }                                                                                              \
    static inline bool name##_is_idle(lock_object_t *obj) { return queued_is_idle(obj); }

#endif
