/* What monitor.h has no need of: a try to enter, and a wait in its wait set that a timer may end
 * (j9_flat.h). */
#ifndef LOCKCROSS_TIMED_MONITOR_H
#define LOCKCROSS_TIMED_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/park.h"
#include "monitor/timed_park.h"
#include "types.h"

/* With the latch held: takes `thread` out of a queue. False if it is not in it. */
static inline bool queue_remove(thread_queue_t *queue, lock_thread_t *thread) {
    if (queue->head == thread) {
        queue_set_head(queue, thread->next);
        return true;
    }
    lock_thread_t *at = queue->head;
    while (at && at->next != thread)
        at = at->next;
    if (!at)
        return false;
    at->next = thread->next;
    if (queue->tail == thread)
        queue->tail = at;
    return true;
}

/* Enters the monitor, recursively if `self` is in it already; false if another thread is. */
static inline bool monitor_try_enter(monitor_t *monitor, const lock_thread_t *self) {
    if (monitor_held_by(monitor, self)) {
        monitor->recursion++;
        return true;
    }
    if (load_rlx_u32(&monitor->holder) != 0)
        return false;
    latch_acquire(&monitor->latch);
    bool entered = monitor->holder == 0;
    if (entered) {
        store_rlx_u32(&monitor->holder, self->tid);
        monitor->recursion = 1;
    }
    latch_release(&monitor->latch);
    return entered;
}

/* Leaves the monitor, in which `self` is once, until it is notified or the time is over, and enters
 * it again. A thread that another has taken from a queue gets a permit, so it waits for that even
 * if its time is over. `watched` and `seen` are park_for's. */
LOCK_SLOW void monitor_wait_for(monitor_t *monitor, lock_thread_t *self, uint64_t nanoseconds,
                                const volatile uint32_t *watched, uint32_t seen) {
    latch_acquire(&monitor->latch);
    queue_append(&monitor->waiting, self);
    monitor_vacate(monitor);
    bool woken = park_for(self, nanoseconds, watched, seen);
    latch_acquire(&monitor->latch);
    if (!woken && !queue_remove(&monitor->waiting, self) && !queue_remove(&monitor->entry, self)) {
        latch_release(&monitor->latch);
        park(self);
        latch_acquire(&monitor->latch);
    }
    monitor_compete(monitor, self, true);
    monitor->recursion = 1;
}

#endif
