/*
 * The suspend monitor under every bimodal lock: mutual exclusion with recursion, wait and notify
 * (Kawachiya 2005, 2.3.1, Figure 2.3, where it rests on an operating system's mutex and condition).
 *
 * A latch, a spin lock held for a few instructions, guards the fields. Threads that find the
 * monitor taken queue in the entry queue, first come first served, and park. Exit wakes the head of
 * the queue, which competes again with any thread that arrives (Mesa); if it loses it returns to
 * the head. Wait puts a thread into the wait set; notify moves it to the end of the entry queue.
 *
 * Some steps are always inlined: a compiler that chooses otherwise makes other programs.
 *
 * What a lock alone keeps in its monitors its header declares before it includes any other:
 *   MONITOR_WORD   a name for the word that lies beside what enter and exit use
 *   MONITOR_PART   fields, each with its semicolon; of any size, but away from what enter uses
 * Both are zero at first. A monitor has room for them whether its lock declares them or not, since
 * every field has its place in the programs that results are of.
 */
#ifndef LOCKCROSS_MONITOR_H
#define LOCKCROSS_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/park.h"
#include "types.h"

typedef struct {
    lock_thread_t *head, *tail;
} thread_queue_t;

#ifndef MONITOR_WORD
#define MONITOR_WORD unused_word
#endif
#ifndef MONITOR_PART
#define MONITOR_PART
#endif

typedef struct monitor {
    volatile uint32_t latch;
    volatile uint32_t holder; /* tid, or 0; written under the latch */
    uint32_t recursion;       /* acquisitions of the holder, which alone uses it */
    uint32_t waited;          /* Java waits so far, written by the holder */
    uint32_t MONITOR_WORD;    /* the lock's own */
    uint32_t index;           /* from 1; lock words refer to the monitor by it */
    thread_queue_t entry;     /* waiting to enter */
    thread_queue_t waiting;   /* waiting for a notification */
    const lock_object_t *object;
    struct monitor *hash_next; /* monitor_table.h */
    union {
        uint64_t unused_part;
        struct {
            MONITOR_PART
        }; /* the lock's own */
    };
    uint32_t entries; /* recycling.h: 0 for each new object; a lock may count in it */
} monitor_t;

static inline void latch_acquire(volatile uint32_t *latch) {
    while (!cas_acq_u32(latch, 0, 1)) {
        while (load_rlx_u32(latch) != 0)
            cpu_relax();
    }
}

static inline void latch_release(volatile uint32_t *latch) { store_rel_u32(latch, 0); }

/* Under the latch, as all changes; monitor_has_queue loads the head without it. */
static inline void queue_set_head(thread_queue_t *queue, lock_thread_t *thread) {
    STORE_RLX_POINTER(&queue->head, thread);
}

static inline void queue_append(thread_queue_t *queue, lock_thread_t *thread) {
    thread->next = 0;
    if (queue->head)
        queue->tail->next = thread;
    else
        queue_set_head(queue, thread);
    queue->tail = thread;
}

static inline void queue_prepend(thread_queue_t *queue, lock_thread_t *thread) {
    thread->next = queue->head;
    if (!queue->head)
        queue->tail = thread;
    queue_set_head(queue, thread);
}

/* The head, or NULL. */
static inline lock_thread_t *queue_take(thread_queue_t *queue) {
    lock_thread_t *thread = queue->head;
    if (thread)
        queue_set_head(queue, thread->next);
    return thread;
}

static inline bool monitor_held_by(const monitor_t *monitor, const lock_thread_t *self) {
    return load_rlx_u32(&monitor->holder) == self->tid;
}

/* With the latch held, which it releases: puts `self` into the entry queue and parks. A thread that
 * `was_queued` before returns to the head of the queue. */
static inline __attribute__((always_inline)) void
monitor_queue_and_park(monitor_t *monitor, lock_thread_t *self, bool was_queued) {
    if (was_queued)
        queue_prepend(&monitor->entry, self);
    else
        queue_append(&monitor->entry, self);
    latch_release(&monitor->latch);
    park(self);
}

/* With the latch held, which it releases, and `self` not in the entry queue: takes the monitor,
 * after parking while another thread holds it. */
static inline void monitor_compete(monitor_t *monitor, lock_thread_t *self, bool was_queued) {
    while (monitor->holder != 0) {
        monitor_queue_and_park(monitor, self, was_queued);
        latch_acquire(&monitor->latch);
        was_queued = true;
    }
    store_rlx_u32(&monitor->holder, self->tid);
    latch_release(&monitor->latch);
}

/* Enters the monitor, recursively if `self` is in it already. */
LOCK_SLOW void monitor_enter(monitor_t *monitor, lock_thread_t *self) {
    if (monitor_held_by(monitor, self)) {
        monitor->recursion++;
        return;
    }
    latch_acquire(&monitor->latch);
    monitor_compete(monitor, self, false);
    monitor->recursion = 1;
}

/* With the latch held, which it releases: wakes `next`, if any. */
static inline __attribute__((always_inline)) void monitor_wake(monitor_t *monitor,
                                                               lock_thread_t *next) {
    latch_release(&monitor->latch);
    if (next)
        unpark(next);
}

/* With the latch held, which it releases: leaves the monitor completely. */
static inline void monitor_vacate(monitor_t *monitor) {
    store_rlx_u32(&monitor->holder, 0);
    lock_thread_t *next = queue_take(&monitor->entry);
    monitor_wake(monitor, next);
}

/* Undoes one enter. ILLEGAL_STATE if `self` is not in the monitor. */
LOCK_SLOW lock_result_t monitor_exit(monitor_t *monitor, lock_thread_t *self) {
    if (!monitor_held_by(monitor, self))
        return ILLEGAL_STATE;
    if (--monitor->recursion > 0)
        return SUCCESS;
    latch_acquire(&monitor->latch);
    monitor_vacate(monitor);
    return SUCCESS;
}

/* Leaves the monitor, however deep, until `self` is notified and has entered it again as deep.
 * ILLEGAL_STATE if `self` is not in the monitor. */
LOCK_SLOW lock_result_t monitor_wait(monitor_t *monitor, lock_thread_t *self) {
    if (!monitor_held_by(monitor, self))
        return ILLEGAL_STATE;
    uint32_t recursion = monitor->recursion;
    latch_acquire(&monitor->latch);
    queue_append(&monitor->waiting, self);
    monitor_vacate(monitor);
    park(self); /* until notify has put it into the entry queue and an exit has taken it out */
    latch_acquire(&monitor->latch);
    monitor_compete(monitor, self, true);
    monitor->recursion = recursion;
    return SUCCESS;
}

/* With the latch held: moves the longest waiting thread to the entry queue. False: none waits. */
static inline __attribute__((always_inline)) bool monitor_end_wait(monitor_t *monitor) {
    lock_thread_t *thread = queue_take(&monitor->waiting);
    if (!thread)
        return false;
    queue_append(&monitor->entry, thread);
    return true;
}

/* Ends up to `limit` waits, longest first; the threads continue when the monitor is free.
 * ILLEGAL_STATE if `self` is not in the monitor. */
LOCK_SLOW lock_result_t monitor_notify(monitor_t *monitor, lock_thread_t *self, uint32_t limit) {
    if (!monitor_held_by(monitor, self))
        return ILLEGAL_STATE;
    latch_acquire(&monitor->latch);
    for (; limit > 0; limit--) {
        if (!monitor_end_wait(monitor))
            break;
    }
    latch_release(&monitor->latch);
    return SUCCESS;
}

#define MONITOR_NOTIFY_ALL LOCK_MAX_THREADS

/* Whether a thread waits to enter or for a notification. The answer may be out of date at once. */
static inline bool monitor_has_queue(const monitor_t *monitor) {
    return __atomic_load_n(&monitor->entry.head, __ATOMIC_RELAXED) ||
           __atomic_load_n(&monitor->waiting.head, __ATOMIC_RELAXED);
}

static inline bool monitor_is_idle(const monitor_t *monitor) {
    return load_rlx_u32(&monitor->holder) == 0 && load_rlx_u32(&monitor->latch) == 0 &&
           !monitor_has_queue(monitor);
}

#endif
