/*
 * tnp: temporally non-preemption (Edler et al. 1988), in all locks, of Odaira and Hiraki (slides
 * Temporally Non-Preemption, Instrumentation Code).
 *
 * Before every acquisition the thread forbids the end of its time slice, and after the release it
 * permits it again; a slice that should have ended meanwhile ends then. So on one core a thread is
 * not switched out inside a section, unless it waits, and no other thread ever finds the lock held:
 * there is one switch a time slice. The price is the instrumentation (monitor/processor.h) of every
 * pair, contended or not. The lock underneath is the renouncement lock (queued_core.h); where
 * processors are not shared there is nothing to forbid, and it is only that.
 */
#ifndef LOCKCROSS_TNP_H
#define LOCKCROSS_TNP_H

#include "monitor/processor.h"
#include "parts/queued_core.h"
#include "types.h"

static inline lock_result_t tnp_acquire(lock_object_t *obj, lock_thread_t *self) {
    processor_forbid_switch(self);
    return queued_acquire(obj, self);
}

static inline lock_result_t tnp_release(lock_object_t *obj, lock_thread_t *self) {
    lock_result_t result = queued_release(obj, self);
    if (LOCK_LIKELY(result == SUCCESS))
        processor_permit_switch(self);
    return result;
}

QUEUED_JAVA(tnp)

#endif
