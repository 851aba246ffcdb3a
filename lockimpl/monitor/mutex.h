/*
 * A full-fledged mutex, like that of Posix threads: elided.h, io_spin.h and lifted.h optimize its
 * use (Serrano and Grande 2014, sections 2 to 4: flockfile, pthread_mutex_lock).
 *
 * One CAS acquires it and one CAS releases it, since the release must learn at the same moment
 * whether a thread waits. A thread that finds it taken marks the word and parks in the entry queue
 * of the object's suspend monitor, which takes the place of a kernel's futex queue. The release of
 * a marked word wakes the head, which competes again. Condition variables are the monitor's wait
 * set: a notification moves a thread to the entry queue.
 *
 *    31  30  29                        0     31                 0
 *   +---+---+---------------------------+   +--------------------+
 *   | W | S | tid of the holder, or 0   |   | recursions (holder)|
 *   +---+---+---------------------------+   +--------------------+
 *             lock word                           flag word
 *   W  threads are queued; set under the monitor's latch
 *   S  held for a short section that never blocks (io_spin.h): other threads spin, nobody queues
 *
 * While the queue is not empty, the word is marked or a woken thread is on its way that marks it.
 */
#ifndef LOCKCROSS_MUTEX_H
#define LOCKCROSS_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "types.h"

#define MUTEX_WAITERS 0x80000000u
#define MUTEX_SHORT 0x40000000u

/* What the diagram allows: threads queue for a holder, whose section is not short. */
static inline bool mutex_word_is_valid(uint32_t word) {
    uint32_t tid = word & ~(MUTEX_WAITERS | MUTEX_SHORT);
    return tid == 0 ? word == 0
                    : tid <= LOCK_MAX_THREADS && !(word & MUTEX_WAITERS && word & MUTEX_SHORT);
}
#define LOCK_WORD_IS_VALID(word) mutex_word_is_valid(word)

static inline bool mutex_is_mine(uint32_t word, const lock_thread_t *self) {
    return (word & ~(MUTEX_WAITERS | MUTEX_SHORT)) == self->tid_field;
}

/* Takes the mutex, which `self` does not hold, after parking while another thread has it. */
LOCK_SLOW void mutex_compete(lock_object_t *obj, lock_thread_t *self, bool was_queued) {
    monitor_t *monitor = lookup_monitor(obj);
    for (;;) {
        latch_acquire(&monitor->latch);
        uint32_t word = load_rlx_u32(&obj->lock_word);
        uint32_t mark = monitor->entry.head ? MUTEX_WAITERS : 0;
        if (word == 0 && cas_acq_u32(&obj->lock_word, 0, self->tid_field | mark)) {
            latch_release(&monitor->latch);
            return;
        }
        bool queues =
            word != 0 && !(word & MUTEX_SHORT) &&
            (word & MUTEX_WAITERS || cas_acq_u32(&obj->lock_word, word, word | MUTEX_WAITERS));
        if (queues && was_queued)
            queue_prepend(&monitor->entry, self);
        else if (queues)
            queue_append(&monitor->entry, self);
        latch_release(&monitor->latch);
        if (queues) {
            park(self);
            was_queued = true;
        } else {
            spin_wait(self);
        }
    }
}

LOCK_SLOW lock_result_t mutex_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    if (mutex_is_mine(load_rlx_u32(&obj->lock_word), self))
        store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) + 1);
    else
        mutex_compete(obj, self, false);
    return SUCCESS;
}

static inline lock_result_t mutex_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid_field)))
        return SUCCESS;
    return mutex_acquire_slow(obj, self);
}

/* The outermost release of a marked mutex. */
LOCK_SLOW void mutex_release_slow(lock_object_t *obj) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    lock_thread_t *next = queue_take(&monitor->entry);
    store_rel_u32(&obj->lock_word, 0);
    monitor_wake(monitor, next);
}

/* Undoes one acquisition of a mutex that `self` holds. */
static inline void mutex_release_held(lock_object_t *obj, lock_thread_t *self) {
    uint32_t recursions = load_rlx_u32(&obj->flag);
    if (!LOCK_LIKELY(recursions == 0))
        store_rlx_u32(&obj->flag, recursions - 1);
    else if (!LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, self->tid_field, 0)))
        mutex_release_slow(obj);
}

static inline lock_result_t mutex_release(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(mutex_is_mine(load_rlx_u32(&obj->lock_word), self)))
        return ILLEGAL_STATE;
    mutex_release_held(obj, self);
    return SUCCESS;
}

LOCK_SLOW lock_result_t mutex_wait(lock_object_t *obj, lock_thread_t *self) {
    if (!mutex_is_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    uint32_t recursions = load_rlx_u32(&obj->flag);
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    queue_append(&monitor->waiting, self);
    latch_release(&monitor->latch);
    store_rlx_u32(&obj->flag, 0);
    mutex_release_held(obj, self);
    park(self); /* until notify has put it into the entry queue and a release has taken it out */
    mutex_compete(obj, self, true);
    store_rlx_u32(&obj->flag, recursions);
    return SUCCESS;
}

/* Ends up to `limit` waits, longest first. Only the holder, with the latch, writes a marked word:
 * it needs no CAS. */
LOCK_SLOW lock_result_t mutex_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    if (!mutex_is_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    for (; limit > 0; limit--) {
        if (!monitor_end_wait(monitor))
            break;
        store_rlx_u32(&obj->lock_word, load_rlx_u32(&obj->lock_word) | MUTEX_WAITERS);
    }
    latch_release(&monitor->latch);
    return SUCCESS;
}

static inline bool mutex_is_idle(lock_object_t *obj) {
    return load_rlx_u32(&obj->lock_word) == 0 && load_rlx_u32(&obj->flag) == 0;
}

#endif
