/*
 * Where monitors come from: a static pool, and a table from objects to monitors (Kawachiya 2005,
 * 2.4.1, Figure 2.7) under one global latch. Only recycling.h ever removes an object from it:
 * deflation changes nothing but the lock word (4.5.1). Lock words refer to a monitor by its index,
 * 1 to MONITOR_POOL_SIZE, which fits the 22 bits of the narrowest lock word.
 */
#ifndef LOCKCROSS_MONITOR_TABLE_H
#define LOCKCROSS_MONITOR_TABLE_H

#include <stdint.h>

#include "monitor/monitor.h"
#include "types.h"

#ifndef MONITOR_POOL_SIZE /* a lock that needs more defines it before it includes this header */
#define MONITOR_POOL_SIZE SMALL_IN_MODEL(4096, 3)
#endif
#ifndef MONITOR_BUCKETS
#define MONITOR_BUCKETS SMALL_IN_MODEL(1024, 1)
#endif

/* Each monitor has lines of its own. */
typedef struct {
    monitor_t monitor;
} __attribute__((aligned(LOCK_LINE))) monitor_line_t;

typedef struct {
    monitor_line_t pool[MONITOR_POOL_SIZE];
    volatile uint32_t latch;
    uint32_t used; /* monitors of the pool */
    monitor_t *buckets[MONITOR_BUCKETS];
} monitor_table_t;

extern monitor_table_t monitor_table;
#ifdef LOCKCROSS_STORAGE
monitor_table_t monitor_table;
#endif

static inline monitor_t *monitor_at(uint32_t index) {
    return &monitor_table.pool[index - 1].monitor;
}

static inline monitor_t **monitor_bucket(const lock_object_t *object) {
    return &monitor_table.buckets[((uintptr_t)object / LOCK_OBJECT_SPACING) % MONITOR_BUCKETS];
}

/* With the table's latch held: a new monitor. Fatal when the pool is exhausted. */
static inline monitor_t *monitor_create(const lock_object_t *object) {
    if (monitor_table.used == MONITOR_POOL_SIZE)
        lock_fatal("the monitor pool is exhausted");
    monitor_t *monitor = &monitor_table.pool[monitor_table.used++].monitor;
    monitor->index = monitor_table.used;
    monitor->object = object;
    return monitor;
}

/* The monitor of an object, which gets one if it has none. */
LOCK_SLOW monitor_t *lookup_monitor(const lock_object_t *object) {
    monitor_t **bucket = monitor_bucket(object);
    latch_acquire(&monitor_table.latch);
    monitor_t *monitor = *bucket;
    while (monitor && monitor->object != object)
        monitor = monitor->hash_next;
    if (!monitor) {
        monitor = monitor_create(object);
        monitor->hash_next = *bucket;
        *bucket = monitor;
    }
    latch_release(&monitor_table.latch);
    return monitor;
}

#endif
