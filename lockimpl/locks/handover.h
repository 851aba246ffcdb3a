/*
 * handover: the handover lock of Odaira and Hiraki ("Selective Optimization of Locks by Runtime
 * Statistics and Just-in-time Compilation", slide Handover Lock).
 *
 * A release with threads in the queue gives the ownership to the first of them and wakes it. So the
 * lock is passed on in the order of arrival; but a thread that wants it again at once has to park,
 * and with several threads on a core nearly every section costs a switch. queued_core.h has the
 * lock word and the choices where the source is silent.
 */
#ifndef LOCKCROSS_HANDOVER_H
#define LOCKCROSS_HANDOVER_H

#include "types.h"

#define QUEUED_HANDOVER 1
#include "parts/queued_core.h"

static inline lock_result_t handover_acquire(lock_object_t *obj, lock_thread_t *self) {
    return queued_acquire(obj, self);
}

static inline lock_result_t handover_release(lock_object_t *obj, lock_thread_t *self) {
    return queued_release(obj, self);
}

QUEUED_JAVA(handover)

#endif
