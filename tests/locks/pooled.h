/*
 * pooled: a lock for tests/locks/test_new_lock.py, with a pool and a part of the monitor that no
 * other lock has.
 *
 * An object gets a record of a pool when it is first used for a lock, and the lock word names it.
 * The record leads to a monitor, in which the holder counts acquisitions and releases.
 *
 *    31                              0
 *   +---------------------------------+
 *   |  number of a record, or 0       |
 *   +---------------------------------+
 *    lock word; the flag word is not used
 */
#ifndef LOCKCROSS_POOLED_H
#define LOCKCROSS_POOLED_H

#include <stdbool.h>
#include <stdint.h>

#define MONITOR_PART uint64_t acquisitions, releases; /* written by the holder */
#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "types.h"

#ifndef POOLED_RECORDS
#define POOLED_RECORDS SMALL_IN_MODEL(64, 2)
#endif

#define LOCK_WORD_IS_VALID(word) ((word) <= POOLED_RECORDS)

enum { pooled_initial_word = 0, pooled_tid_shift = 0, pooled_misc_mask = 0 };

/* Guarded by the latch of the table; a record whose number is in a lock word no longer changes. */
typedef struct {
    monitor_t *records[POOLED_RECORDS];
    uint32_t used;
} pooled_t;

extern pooled_t pooled;
#ifdef LOCKCROSS_STORAGE
pooled_t pooled;
#endif

/* The number of the object's record, which it gets unless another thread has given it one by now.
 */
LOCK_SLOW uint32_t pooled_associate(lock_object_t *obj) {
    latch_acquire(&monitor_table.latch);
    uint32_t number = load_rlx_u32(&obj->lock_word);
    if (number == 0) {
        if (pooled.used == POOLED_RECORDS)
            lock_fatal("the pool of records is exhausted");
        pooled.records[pooled.used++] = monitor_create(obj);
        number = pooled.used;
        store_rel_u32(&obj->lock_word, number);
    }
    latch_release(&monitor_table.latch);
    return number;
}

static inline monitor_t *pooled_monitor(lock_object_t *obj) {
    uint32_t number = load_acq_u32(&obj->lock_word);
    if (!LOCK_LIKELY(number != 0))
        number = pooled_associate(obj);
    return pooled.records[number - 1];
}

static inline lock_result_t pooled_acquire(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = pooled_monitor(obj);
    monitor_enter(monitor, self);
    monitor->acquisitions++;
    return SUCCESS;
}

static inline lock_result_t pooled_release(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = pooled_monitor(obj);
    if (!monitor_held_by(monitor, self))
        return ILLEGAL_STATE;
    monitor->releases++;
    return monitor_exit(monitor, self);
}

static inline lock_result_t pooled_wait(lock_object_t *obj, lock_thread_t *self) {
    return monitor_wait(pooled_monitor(obj), self);
}

static inline lock_result_t pooled_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    return monitor_notify(pooled_monitor(obj), self, limit);
}

static inline bool pooled_is_idle(lock_object_t *obj) {
    const monitor_t *monitor = pooled_monitor(obj);
    return monitor_is_idle(monitor) && monitor->acquisitions == monitor->releases;
}

#endif
