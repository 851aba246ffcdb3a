/*
 * hot: the hot locks of IBM's JDK 1.1.2 for AIX (IBM112), Bacon et al. 1998, sections 3 and 3.3.
 *
 * An object begins with a fat lock of the monitor cache, which records how often it is acquired.
 * When it proves hot, it gets one of 32 preallocated hot locks: a pointer to that takes the place
 * of a word of the object's header, the hot lock keeps the displaced word, and one bit of the word
 * says which of the two it is. From then on a lock operation follows the pointer and by-passes the
 * monitor cache with its global lock. Beyond 32 hot objects the scheme thrashes.
 *
 *    63                                 1  0
 *   +----------------------------------+--+
 *   | regular header data              |0 |   a fat lock, found by the table, or none yet
 *   +----------------------------------+--+
 *   | pointer to the hot lock          |1 |   the header data is in the hot lock
 *   +----------------------------------+--+
 *     extra[0]; lock word and flag word are not the lock's: misc
 *
 * The thread that is in a fat lock makes it a hot one, with all its queues; threads on their way to
 * its latch look again (monitor/recycling.h, which also shows why no waiter is lost). With the
 * table's latch held, an object has a hot lock, or a fat one in the table, or none.
 *
 * Where the source is silent: an object is hot once its fat lock was acquired 16 times, nested
 * acquisitions included. When all 32 hot locks are taken, the next hot object gets one that is not
 * in use, in turn; its former object gets its header word back and begins again. The paper says
 * only that more than 32 slow it down considerably, and likens it to a cache that is thrashed
 * (section 4). Every operation looks a fat lock up in the table: per-thread caches came later. A
 * header word has 64 bits here.
 */
#ifndef LOCKCROSS_HOT_H
#define LOCKCROSS_HOT_H

#include <stdbool.h>
#include <stdint.h>

#define MONITOR_PART uint64_t displaced; /* the header word that a pointer to this displaced */
#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/recycling.h"
#include "types.h"

#ifndef HOT_LOCKS
#define HOT_LOCKS SMALL_IN_MODEL(32, 1)
#define HOT_THRESHOLD SMALL_IN_MODEL(16, 2)
#endif
#define HOT_BIT 1u

enum { hot_initial_word = 0, hot_tid_shift = 0, hot_misc_mask = -1 };

/* Guarded by the latch of the table, except the monitors themselves. */
typedef struct {
    monitor_line_t locks[HOT_LOCKS];
    uint32_t hand; /* where the last search ended */
} hot_locks_t;

extern hot_locks_t hot_locks;
#ifdef LOCKCROSS_STORAGE
hot_locks_t hot_locks;
#endif

static inline uint64_t hot_header(const lock_object_t *obj) { return load_acq_u64(&obj->extra[0]); }

static inline monitor_t *hot_pointer(uint64_t header) {
    return (monitor_t *)(uintptr_t)(header & ~(uint64_t)HOT_BIT);
}

/* With the table's latch held: obj's monitor, hot or fat, or NULL. */
static inline monitor_t *hot_find(const lock_object_t *obj) {
    uint64_t header = hot_header(obj);
    return header & HOT_BIT ? hot_pointer(header) : recycling_find(obj);
}

/* The header data, wherever it is now. */
static inline uint64_t hot_header_data(lock_object_t *obj) {
    latch_acquire(&monitor_table.latch);
    uint64_t header = hot_header(obj);
    uint64_t data = header & HOT_BIT ? hot_pointer(header)->displaced : header;
    latch_release(&monitor_table.latch);
    return data;
}

/* With the table's latch held: a hot lock without an object, taken from one if necessary; NULL when
 * all are in use. */
static inline monitor_t *hot_take(void) {
    for (uint32_t tried = 0; tried < HOT_LOCKS; tried++) {
        monitor_t *hot = &hot_locks.locks[hot_locks.hand++ % HOT_LOCKS].monitor;
        lock_object_t *former = (lock_object_t *)hot->object;
        if (!monitor_withdraw(hot))
            continue;
        if (former)
            store_rel_u64(&former->extra[0], hot->displaced);
        return hot;
    }
    return 0;
}

/* With both latches held: `hot` takes the place of `fat` as obj's monitor. */
static inline void hot_move(monitor_t *hot, monitor_t *fat, const lock_object_t *obj) {
    __atomic_store_n(&hot->object, obj, __ATOMIC_RELAXED);
    store_rlx_u32(&hot->holder, fat->holder);
    hot->recursion = fat->recursion;
    hot->entry = fat->entry;
    hot->waiting = fat->waiting;
    __atomic_store_n(&fat->object, 0, __ATOMIC_RELAXED);
    store_rlx_u32(&fat->holder, 0);
    fat->entry = fat->waiting = (thread_queue_t){0, 0};
}

/* In the fat lock of obj, which has proved hot: returns the monitor that the thread is in then. */
LOCK_SLOW monitor_t *hot_promote(lock_object_t *obj, monitor_t *fat) {
    latch_acquire(&monitor_table.latch);
    monitor_t *hot = hot_take();
    if (hot) {
        latch_acquire(&hot->latch);
        latch_acquire(&fat->latch);
        hot_move(hot, fat, obj);
        latch_release(&fat->latch);
        hot->displaced = hot_header(obj);
        latch_release(&hot->latch);
        store_rel_u64(&obj->extra[0], (uintptr_t)hot | HOT_BIT);
        recycling_dispose(fat, obj);
    } else {
        fat->entries = 0;
    }
    latch_release(&monitor_table.latch);
    return hot ? hot : fat;
}

/* Enters the monitor that the table has for obj, or a new one. */
LOCK_SLOW monitor_t *hot_enter_slow(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor;
    bool is_hot;
    do {
        latch_acquire(&monitor_table.latch);
        is_hot = hot_header(obj) & HOT_BIT;
        monitor = hot_find(obj);
        if (!monitor)
            monitor = recycling_obtain(obj);
        latch_release(&monitor_table.latch);
    } while (!monitor_enter_of(monitor, obj, self, false));
    return !is_hot && ++monitor->entries == HOT_THRESHOLD ? hot_promote(obj, monitor) : monitor;
}

static inline monitor_t *hot_enter(lock_object_t *obj, lock_thread_t *self) {
    uint64_t header = hot_header(obj);
    if (LOCK_LIKELY(header & HOT_BIT) &&
        LOCK_LIKELY(monitor_enter_of(hot_pointer(header), obj, self, false)))
        return hot_pointer(header);
    return hot_enter_slow(obj, self);
}

LOCK_SLOW monitor_t *hot_held_slow(lock_object_t *obj, lock_thread_t *self) {
    latch_acquire(&monitor_table.latch);
    monitor_t *monitor = hot_find(obj);
    latch_release(&monitor_table.latch);
    return monitor && monitor_serves(monitor, obj, self) ? monitor : 0;
}

static inline monitor_t *hot_held(lock_object_t *obj, lock_thread_t *self) {
    uint64_t header = hot_header(obj);
    if (LOCK_LIKELY(header & HOT_BIT) &&
        LOCK_LIKELY(monitor_serves(hot_pointer(header), obj, self)))
        return hot_pointer(header);
    return hot_held_slow(obj, self);
}

RECYCLED_JAVA(hot)

static inline bool hot_is_idle(lock_object_t *obj) {
    const monitor_t *monitor = hot_find(obj);
    return !monitor || monitor_is_idle(monitor);
}

#endif
