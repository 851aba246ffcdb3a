/*
 * A small cache for each thread, in front of the table of monitors: "A thread first looks up its
 * own small monitor cache for an association. When doing so, it does not have to hold any lock"
 * (Kawachiya 2005, 4.6.1, of Sun's JDK 1.1.6).
 *
 *   entry of a thread's cache
 *   +---------------+----------+
 *   | object        | monitor  |
 *   +---------------+----------+
 *
 * Where the source is silent: 8 entries a thread, direct-mapped by the object's address.
 */
#ifndef LOCKCROSS_THREAD_CACHE_H
#define LOCKCROSS_THREAD_CACHE_H

#include <stdint.h>

#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "types.h"

#ifndef THREAD_CACHE_ENTRIES
#define THREAD_CACHE_ENTRIES SMALL_IN_MODEL(8, 1)
#endif

typedef struct {
    const lock_object_t *object;
    monitor_t *monitor;
} thread_cache_entry_t;

typedef struct {
    thread_cache_entry_t entries[THREAD_CACHE_ENTRIES];
} __attribute__((aligned(LOCK_LINE))) thread_cache_t;

/* By thread, which alone uses it. */
extern thread_cache_t thread_caches[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
thread_cache_t thread_caches[LOCK_MAX_THREADS];
#endif

/* Where an object has its place, which another one may have taken. */
static inline thread_cache_entry_t *thread_cache_entry(const lock_object_t *object,
                                                       const lock_thread_t *self) {
    uintptr_t place = (uintptr_t)object / LOCK_OBJECT_SPACING % THREAD_CACHE_ENTRIES;
    return &thread_caches[self->tid - 1].entries[place];
}

/* The monitor of an object, which gets one if it has none. For locks whose monitors never pass to
 * another object, so that an entry is never out of date. */
static inline monitor_t *thread_cache_lookup(const lock_object_t *object,
                                             const lock_thread_t *self) {
    thread_cache_entry_t *entry = thread_cache_entry(object, self);
    if (!LOCK_LIKELY(entry->object == object))
        *entry = (thread_cache_entry_t){object, lookup_monitor(object)};
    return entry->monitor;
}

#endif
