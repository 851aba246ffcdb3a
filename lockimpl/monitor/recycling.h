/*
 * Monitors that are reused: an object gets a monitor when it is first used for a lock, and another
 * object gets it when it is no longer in use. Part of monitor_cache.h and hot.h, over the table of
 * monitor_table.h.
 *
 * A monitor belongs to the object in its field `object`, which is written with the table's latch
 * and the monitor's held. Wherever a thread got a monitor from (a cache, a header, the table), it
 * takes the monitor's latch and reads that field before it enters, and again whenever it returns
 * from parking. If the monitor belongs to another object by then, it looks for its own again.
 *
 * A monitor is taken away only while no thread holds it and both queues are empty. So no waiter can
 * be lost: one that is queued keeps the monitor where it is; one that was taken from a queue and is
 * on its way to the latch relies on nothing there, finds another object and looks again.
 *
 * Monitors come from the free list. When it is empty and all MONITOR_CACHE_SIZE monitors of the
 * cache are in the table, it is filled with unused ones from there, MONITOR_FREE_MAX at most; when
 * all are in use, the cache grows. What the list cannot take goes back to the heap.
 */
#ifndef LOCKCROSS_RECYCLING_H
#define LOCKCROSS_RECYCLING_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/park.h"
#include "types.h"

#ifndef MONITOR_CACHE_SIZE
#define MONITOR_CACHE_SIZE SMALL_IN_MODEL(128, 1)
#define MONITOR_FREE_MAX SMALL_IN_MODEL(32, 1)
#endif

/* Guarded by the latch of the table. */
typedef struct {
    monitor_t *free, *heap; /* linked by hash_next; `heap` stands for malloc's */
    uint32_t free_count;
    uint32_t hand; /* where in the pool the last search for unused monitors ended */
} monitor_recycling_t;

extern monitor_recycling_t monitor_recycling;
#ifdef LOCKCROSS_STORAGE
monitor_recycling_t monitor_recycling;
#endif

/* Whether `self` is in the monitor and it is obj's, which cannot change while `self` is in it. */
static inline bool monitor_serves(const monitor_t *monitor, const lock_object_t *obj,
                                  const lock_thread_t *self) {
    return monitor_held_by(monitor, self) &&
           __atomic_load_n(&monitor->object, __ATOMIC_RELAXED) == obj;
}

/* Enters the monitor, recursively if `self` is in it already. False: it is no longer obj's.
 * `was_queued`: a notification has ended the wait of `self`. */
LOCK_SLOW bool monitor_enter_of(monitor_t *monitor, const lock_object_t *obj, lock_thread_t *self,
                                bool was_queued) {
    if (monitor_serves(monitor, obj, self)) {
        monitor->recursion++;
        return true;
    }
    latch_acquire(&monitor->latch);
    while (monitor->object == obj && monitor->holder != 0) {
        monitor_queue_and_park(monitor, self, was_queued);
        latch_acquire(&monitor->latch);
        was_queued = true;
    }
    bool still = monitor->object == obj;
    if (still) {
        store_rlx_u32(&monitor->holder, self->tid);
        monitor->recursion = 1;
    }
    latch_release(&monitor->latch);
    return still;
}

/* With the table's latch held: takes an unused monitor from its object. False: it is in use. */
static inline bool monitor_withdraw(monitor_t *monitor) {
    if (load_rlx_u32(&monitor->holder) != 0)
        return false;
    latch_acquire(&monitor->latch);
    bool unused = monitor->holder == 0 && !monitor_has_queue(monitor);
    if (unused)
        __atomic_store_n(&monitor->object, 0, __ATOMIC_RELAXED);
    latch_release(&monitor->latch);
    return unused;
}

/* With the table's latch held: the monitor that the table has for an object, or NULL. */
static inline monitor_t *recycling_find(const lock_object_t *obj) {
    monitor_t *monitor = *monitor_bucket(obj);
    while (monitor && monitor->object != obj)
        monitor = monitor->hash_next;
    return monitor;
}

/* With the table's latch held: takes a monitor that was obj's out of the table. */
static inline void recycling_dispose(monitor_t *monitor, const lock_object_t *obj) {
    monitor_t **place = monitor_bucket(obj);
    while (*place != monitor)
        place = &(*place)->hash_next;
    *place = monitor->hash_next;
    bool room = monitor_recycling.free_count < MONITOR_FREE_MAX;
    monitor_t **list = room ? &monitor_recycling.free : &monitor_recycling.heap;
    monitor->hash_next = *list;
    *list = monitor;
    monitor_recycling.free_count += room;
}

/* With the table's latch held: fills the free list with unused monitors of the table. */
LOCK_SLOW void recycling_fill(void) {
    for (uint32_t tried = 0; tried < monitor_table.used; tried++) {
        monitor_t *monitor = monitor_at(monitor_recycling.hand++ % monitor_table.used + 1);
        const lock_object_t *obj = monitor->object;
        if (obj && monitor_withdraw(monitor))
            recycling_dispose(monitor, obj);
        if (monitor_recycling.free_count == MONITOR_FREE_MAX)
            return;
    }
}

/* With the table's latch held: gives a monitor to an object that has none. */
LOCK_SLOW monitor_t *recycling_obtain(const lock_object_t *obj) {
    if (!monitor_recycling.free && !monitor_recycling.heap &&
        monitor_table.used >= MONITOR_CACHE_SIZE)
        recycling_fill();
    bool is_free = monitor_recycling.free != 0;
    monitor_t **list = is_free ? &monitor_recycling.free : &monitor_recycling.heap;
    monitor_t *monitor = *list;
    if (monitor) {
        *list = monitor->hash_next;
        monitor_recycling.free_count -= is_free;
        latch_acquire(&monitor->latch);
        monitor->entries = 0; /* before a thread enters that obj has sent here earlier */
        __atomic_store_n(&monitor->object, obj, __ATOMIC_RELAXED);
        latch_release(&monitor->latch);
    } else {
        monitor = monitor_create(obj);
    }
    monitor_t **bucket = monitor_bucket(obj);
    monitor->hash_next = *bucket;
    return *bucket = monitor;
}

/* The four functions of a Java lock whose header has defined, with the prefix <name>_:
 *   enter(obj, self)    enters obj's monitor, and returns it
 *   held(obj, self)     obj's monitor if `self` is in it, else NULL */
#define RECYCLED_JAVA(name)                                                                        \
    static inline lock_result_t name##_acquire(lock_object_t *obj, lock_thread_t *self) {          \
        name##_enter(obj, self);                                                                   \
        return SUCCESS;                                                                            \
    }                                                                                              \
    static inline lock_result_t name##_release(lock_object_t *obj, lock_thread_t *self) {          \
        monitor_t *monitor = name##_held(obj, self);                                               \
        return monitor ? monitor_exit(monitor, self) : ILLEGAL_STATE;                              \
    }                                                                                              \
    LOCK_SLOW lock_result_t recycled_wait(lock_object_t *obj, lock_thread_t *self) {               \
        monitor_t *monitor = name##_held(obj, self);                                               \
        if (!monitor)                                                                              \
            return ILLEGAL_STATE;                                                                  \
        uint32_t recursion = monitor->recursion;                                                   \
        latch_acquire(&monitor->latch);                                                            \
        queue_append(&monitor->waiting, self);                                                     \
        monitor_vacate(monitor);                                                                   \
        park(self);                                                                                \
        if (!monitor_enter_of(monitor, obj, self, true))                                           \
            monitor = name##_enter(obj, self);                                                     \
        monitor->recursion = recursion;                                                            \
        return SUCCESS;                                                                            \
    }                                                                                              \
    static inline lock_result_t name##_wait(lock_object_t *obj, lock_thread_t *self) {             \
        return recycled_wait(obj, self);                                                           \
    }                                                                                              \
    static inline lock_result_t name##_notify(lock_object_t *obj, lock_thread_t *self,             \
                                              uint32_t limit) {                                    \
        monitor_t *monitor = name##_held(obj, self);                                               \
        return monitor ? monitor_notify(monitor, self, limit) : ILLEGAL_STATE;                     \
    }

#endif
