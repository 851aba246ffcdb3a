/*
 * renouncement: the renouncement lock of Odaira and Hiraki (slide Renouncement Lock).
 *
 * A release with threads in the queue frees the lock and wakes the first of them, which competes
 * for it again. The releasing thread continues, and mostly has the lock again before the woken one
 * runs: there is virtually no switch, and no fairness. queued_core.h has the lock word and the
 * choices where the source is silent.
 */
#ifndef LOCKCROSS_RENOUNCEMENT_H
#define LOCKCROSS_RENOUNCEMENT_H

#include "parts/queued_core.h"
#include "types.h"

static inline lock_result_t renouncement_acquire(lock_object_t *obj, lock_thread_t *self) {
    return queued_acquire(obj, self);
}

static inline lock_result_t renouncement_release(lock_object_t *obj, lock_thread_t *self) {
    return queued_release(obj, self);
}

QUEUED_JAVA(renouncement)

#endif
