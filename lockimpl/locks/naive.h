/*
 * naive: the naive monitor of Kawachiya 2005, section 2.3.2, Figures 2.4 and 2.5.
 *
 * Every object's header contains a monitor, made with the object and used by nothing else: each of
 * the five functions of a Java lock calls the monitor's function and does no more.
 *
 *   +-----------+-----------+------------------------------------------------+
 *   | lock word | flag word | monitor (monitor/monitor.h), 15 words           |
 *   +-----------+-----------+------------------------------------------------+
 *     not the lock's: misc    a header fills one line of LOCK_LINE bytes
 *
 * Where the source is silent: the monitor is the suspend monitor under every bimodal lock here, not
 * the operating system's (Figure 2.3). A monitor of zeros is a free one, so making an object makes
 * its monitor.
 */
#ifndef LOCKCROSS_NAIVE_H
#define LOCKCROSS_NAIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/monitor.h"
#include "types.h"

#define LOCK_MONITOR_BYTES 0 /* there is none besides the one in the object */

enum { naive_initial_word = 0, naive_tid_shift = 0, naive_misc_mask = -1 };

_Static_assert(sizeof(monitor_t) <= naive_extra_words * sizeof(uint64_t),
               "the header words that locks.def gives naive hold no monitor");

static inline monitor_t *naive_monitor(lock_object_t *obj) { return (monitor_t *)obj->extra; }

static inline lock_result_t naive_acquire(lock_object_t *obj, lock_thread_t *self) {
    monitor_enter(naive_monitor(obj), self);
    return SUCCESS;
}

static inline lock_result_t naive_release(lock_object_t *obj, lock_thread_t *self) {
    return monitor_exit(naive_monitor(obj), self);
}

static inline lock_result_t naive_wait(lock_object_t *obj, lock_thread_t *self) {
    return monitor_wait(naive_monitor(obj), self);
}

static inline lock_result_t naive_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    return monitor_notify(naive_monitor(obj), self, limit);
}

static inline bool naive_is_idle(lock_object_t *obj) { return monitor_is_idle(naive_monitor(obj)); }

#endif
