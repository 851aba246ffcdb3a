/*
 * Where the variants `table` of hotspot_light.h find an object's monitor (openjdk/jdk,
 * src/hotspot/share/runtime/objectMonitorTable.cpp; OMCache in lockStack.hpp): in a cache of the
 * thread's own, the latest first; else in a table that all threads share, without locks. There a
 * monitor stands at its object's hash or behind it, at the first place that was empty, and stays.
 *
 * A thread makes a monitor before it looks for a place. If another has put one there for the same
 * object, it keeps its own for the next object.
 *
 * Choices: HotSpot's hash is the object's identity hash, here it is made of the address. The table
 * has its size from the start, eight places for each monitor of the pool, where HotSpot's grows.
 */
#ifndef LOCKCROSS_LIGHT_TABLE_H
#define LOCKCROSS_LIGHT_TABLE_H

#include <stdint.h>

#include "parts/object_monitor.h" /* first, since it declares a part of each monitor */

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "types.h"

#if LOCKCROSS_VARIANT_TABLE_SPIN13 /* JDK 24 to 26 */
#define LIGHT_CACHE SMALL_IN_MODEL(8u, 2u)
#else
#define LIGHT_CACHE 2u
#endif
#define LIGHT_PLACES (8u * MONITOR_POOL_SIZE)
#define LIGHT_HASHES SMALL_IN_MODEL(LIGHT_PLACES, 1u)

/* By thread. */
typedef struct {
    const lock_object_t *objects[LIGHT_CACHE];
    monitor_t *monitors[LIGHT_CACHE];
    monitor_t *spare;
} __attribute__((aligned(LOCK_LINE))) light_cache_t;

extern light_cache_t light_caches[LOCK_MAX_THREADS];
extern volatile uint32_t light_places[LIGHT_PLACES]; /* indices of monitors, or 0 */
#ifdef LOCKCROSS_STORAGE
light_cache_t light_caches[LOCK_MAX_THREADS];
volatile uint32_t light_places[LIGHT_PLACES];
#endif

static inline light_cache_t *light_cache(const lock_thread_t *self) {
    return &light_caches[self->tid - 1];
}

/* Puts a monitor in front of the others of the cache, of which the last may have to leave it. */
static inline void light_cache_add(light_cache_t *cache, monitor_t *monitor) {
    for (uint32_t at = LIGHT_CACHE - 1; at > 0; at--) {
        cache->objects[at] = cache->objects[at - 1];
        cache->monitors[at] = cache->monitors[at - 1];
    }
    cache->objects[0] = monitor->object;
    cache->monitors[0] = monitor;
}

static inline uint32_t light_hash(const lock_object_t *obj) {
    uint64_t line = (uintptr_t)obj / LOCK_OBJECT_SPACING;
    return (uint32_t)(line * 0x9e3779b97f4a7c15u >> 32) % LIGHT_HASHES;
}

/* A monitor that no object has; made for `obj`. */
static inline monitor_t *light_make_monitor(const lock_object_t *obj, light_cache_t *cache) {
    monitor_t *monitor = cache->spare;
    cache->spare = 0;
    if (monitor) {
        monitor->object = obj;
        return monitor;
    }
    latch_acquire(&monitor_table.latch);
    monitor = monitor_create(obj);
    latch_release(&monitor_table.latch);
    return monitor;
}

/* The monitor that the table has for an object, which gets one if it has none. */
LOCK_SLOW monitor_t *light_look_up(const lock_object_t *obj, const lock_thread_t *self) {
    light_cache_t *cache = light_cache(self);
    monitor_t *made = 0;
    for (uint32_t at = light_hash(obj);; at = (at + 1) % LIGHT_PLACES) {
        uint32_t index = load_acq_u32(&light_places[at]);
        if (index == 0) {
            made = made ? made : light_make_monitor(obj, cache);
            if (cas_acq_rel_u32(&light_places[at], 0, made->index)) {
                light_cache_add(cache, made);
                return made;
            }
            index = load_acq_u32(&light_places[at]);
        }
        if (monitor_at(index)->object == obj) {
            cache->spare = made ? made : cache->spare;
            light_cache_add(cache, monitor_at(index));
            return monitor_at(index);
        }
    }
}

static inline monitor_t *light_obtain_monitor(const lock_object_t *obj, const lock_thread_t *self) {
    light_cache_t *cache = light_cache(self);
    for (uint32_t at = 0; at < LIGHT_CACHE; at++) {
        if (cache->objects[at] == obj)
            return cache->monitors[at];
    }
    return light_look_up(obj, self);
}

/* The object is a new one, where another has been. */
static inline void light_renew(const lock_object_t *obj) {
    uint32_t index;
    for (uint32_t at = light_hash(obj); (index = load_rlx_u32(&light_places[at])) != 0;
         at = (at + 1) % LIGHT_PLACES) {
        if (monitor_at(index)->object == obj)
            object_monitor_renew(monitor_at(index));
    }
}
#define LOCK_ON_OBJECT_INIT(obj) light_renew(obj)

static inline monitor_t *light_monitor(const lock_object_t *obj, const lock_thread_t *self,
                                       uint32_t word) {
    (void)word;
    return light_obtain_monitor(obj, self);
}

#endif
