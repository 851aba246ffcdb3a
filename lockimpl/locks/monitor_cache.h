/*
 * monitor_cache: the monitor cache of Sun's JDK 1.1, Kawachiya 2005, sections 2.4.1 and 4.6.1;
 * Bacon et al. 1998, sections 1 and 3.3.
 *
 * Objects have no field for the lock; a table with a global lock associates them with monitors. A
 * thread first looks in a small cache of its own for the monitor that it last found, which needs no
 * lock; only a miss searches the table. The cache of monitors has a size: beyond it, an object gets
 * a monitor that another no longer uses, by way of a bounded free list, which thrashes when the
 * working set exceeds that size (Bacon, 3.3). monitor/recycling.h shows how.
 *
 *   lock word, flag word          entry of a thread's cache, 8 a thread
 *   +-----------------------+     +---------------+-----------------------+
 *   | not the lock's: misc  |     | object        | monitor, as last seen |
 *   +-----------------------+     +---------------+-----------------------+
 *
 * Where the sources are silent: a thread's cache is direct-mapped by the object's address, one
 * entry a line; an entry may be out of date, and the monitor itself says whether it is still the
 * object's. The cache of monitors has 128, its free list 32 at most. Monitors return to the free
 * list when it is empty, not at release: otherwise there could be no hit. An operation by a thread
 * that is not in the monitor makes no monitor.
 *
 * Variant `jdk111`: JDK 1.1.1, which Bacon et al. compare with (JDK111, section 3.3). It has no
 * caches of threads, which came with JDK 1.1.6 (Kawachiya, 4.6.1): every operation looks the
 * monitor up in the cache, "which must itself be locked". The free list is the same.
 */
#ifndef LOCKCROSS_MONITOR_CACHE_H
#define LOCKCROSS_MONITOR_CACHE_H

#include <stdbool.h>

#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/recycling.h"
#include "types.h"

enum { monitor_cache_initial_word = 0, monitor_cache_tid_shift = 0, monitor_cache_misc_mask = -1 };

#if !LOCKCROSS_VARIANT_JDK111
#include "monitor/thread_cache.h"
#endif

/* Enters the monitor that the table has for obj, or a new one. */
LOCK_SLOW monitor_t *monitor_cache_enter_slow(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor;
    do {
        latch_acquire(&monitor_table.latch);
        monitor = recycling_find(obj);
        if (!monitor)
            monitor = recycling_obtain(obj);
        latch_release(&monitor_table.latch);
#if !LOCKCROSS_VARIANT_JDK111
        *thread_cache_entry(obj, self) = (thread_cache_entry_t){obj, monitor};
#endif
    } while (!monitor_enter_of(monitor, obj, self, false));
    return monitor;
}

static inline monitor_t *monitor_cache_enter(lock_object_t *obj, lock_thread_t *self) {
#if !LOCKCROSS_VARIANT_JDK111
    thread_cache_entry_t *entry = thread_cache_entry(obj, self);
    if (LOCK_LIKELY(entry->object == obj) &&
        LOCK_LIKELY(monitor_enter_of(entry->monitor, obj, self, false)))
        return entry->monitor;
#endif
    return monitor_cache_enter_slow(obj, self);
}

/* Finds a monitor whose place in this thread's cache another object may have. */
LOCK_SLOW monitor_t *monitor_cache_held_slow(lock_object_t *obj, lock_thread_t *self) {
    latch_acquire(&monitor_table.latch);
    monitor_t *monitor = recycling_find(obj);
    latch_release(&monitor_table.latch);
    if (!monitor || !monitor_serves(monitor, obj, self))
        return 0;
#if !LOCKCROSS_VARIANT_JDK111
    *thread_cache_entry(obj, self) = (thread_cache_entry_t){obj, monitor};
#endif
    return monitor;
}

static inline monitor_t *monitor_cache_held(lock_object_t *obj, lock_thread_t *self) {
#if !LOCKCROSS_VARIANT_JDK111
    thread_cache_entry_t *entry = thread_cache_entry(obj, self);
    if (LOCK_LIKELY(entry->object == obj) && LOCK_LIKELY(monitor_serves(entry->monitor, obj, self)))
        return entry->monitor;
#endif
    return monitor_cache_held_slow(obj, self);
}

RECYCLED_JAVA(monitor_cache)

static inline bool monitor_cache_is_idle(lock_object_t *obj) {
    const monitor_t *monitor = recycling_find(obj);
    return !monitor || monitor_is_idle(monitor);
}

#endif
