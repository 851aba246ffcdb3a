/*
 * monitor_table: the monitor table of Kawachiya 2005, section 2.4.1, Figures 2.6 and 2.7.
 *
 * Objects have no field for the lock. A global table associates them with monitors, which are made
 * when an object is first used for a lock. Every lock function, even release, first looks the
 * monitor up, with the table's global lock held (lookup_monitor of monitor/monitor_table.h), and
 * then calls the monitor's function.
 *
 *    31                              0
 *   +---------------------------------+
 *   |  not the lock's: misc           |   the flag word is not the lock's either
 *   +---------------------------------+
 *
 * Where the source is silent: the table hashes the object's address into 1024 buckets; its lock is
 * a spin lock, held for one search. As in the figure, a release of an object that was never
 * acquired makes a monitor, only to find that it is not held.
 */
#ifndef LOCKCROSS_LOCKS_MONITOR_TABLE_H
#define LOCKCROSS_LOCKS_MONITOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/monitor.h"
#include "types.h"

#ifndef MONITOR_POOL_SIZE /* every object that is ever used for a lock has a monitor */
#define MONITOR_POOL_SIZE SMALL_IN_MODEL(16384, 3)
#endif
#include "monitor/monitor_table.h"

enum { monitor_table_initial_word = 0, monitor_table_tid_shift = 0, monitor_table_misc_mask = -1 };

static inline lock_result_t monitor_table_acquire(lock_object_t *obj, lock_thread_t *self) {
    monitor_enter(lookup_monitor(obj), self);
    return SUCCESS;
}

static inline lock_result_t monitor_table_release(lock_object_t *obj, lock_thread_t *self) {
    return monitor_exit(lookup_monitor(obj), self);
}

static inline lock_result_t monitor_table_wait(lock_object_t *obj, lock_thread_t *self) {
    return monitor_wait(lookup_monitor(obj), self);
}

static inline lock_result_t monitor_table_notify(lock_object_t *obj, lock_thread_t *self,
                                                 uint32_t limit) {
    return monitor_notify(lookup_monitor(obj), self, limit);
}

static inline bool monitor_table_is_idle(lock_object_t *obj) {
    return monitor_is_idle(lookup_monitor(obj));
}

#endif
