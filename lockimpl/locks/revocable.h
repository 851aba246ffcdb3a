/*
 * revocable: the revocable monitors of Welc, Hosking and Jagannathan 2004, sections 2 to 4.
 *
 * The acquirer's CAS deposits its priority in the object header. A thread that finds the monitor
 * held by a thread of lower priority asks for revocation and waits; the holder rolls its section
 * back at its next yield point (revocable_sections.h) and hands the monitor over. Queues are
 * prioritized: a release schedules the thread of the highest priority, and among equals the one
 * that has waited longest.
 *
 *    31  30  29       16 15        8 7        0     31                 0
 *   +---+---+-----------+-----------+----------+   +--------------------+
 *   | W | R | 0         | priority  | tid      |   | recursions (holder)|
 *   +---+---+-----------+-----------+----------+   +--------------------+
 *             lock word, 0 when free                     flag word
 *   W  threads are queued          R  the holder is asked to roll back
 *   extra[0]  which thread has released this monitor within an open section (revocable_state.h)
 *
 * W and R are set under the latch of the object's suspend monitor (monitor_table.h), which has the
 * queues. A release of a marked word makes the head of the queue its holder at once, so that
 * "it is allowed to acquire the monitor" whichever thread arrives; so the word is marked exactly
 * while a thread is queued.
 *
 * Variant `unmodified`: the same monitor and queues without revocation and without write barriers,
 * the "unmodified VM" that section 4 compares with.
 *
 * Where the source is silent: the monitor takes one CAS each way, instead of Jikes RVM's thin lock
 * with its nest count; it is the same in both variants. A thread that waits for a second monitor
 * rolls back once it has got it. A plain lock_acquire cannot be begun again, so a monitor held by
 * it alone is never revoked.
 */
#ifndef LOCKCROSS_REVOCABLE_H
#define LOCKCROSS_REVOCABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/processor.h"
#include "parts/revocable_monitor.h"
#include "types.h"
#ifndef LOCKCROSS_VARIANT_UNMODIFIED
#include "parts/revocable_sections.h"
#endif

enum { revocable_initial_word = 0, revocable_tid_shift = 0, revocable_misc_mask = 0 };

#define LOCK_ON_THREAD_INIT(self, index) revocable_deposit(self, PROCESSOR_PRIORITY_DEFAULT)

#define LOCK_HAS_PRIORITIES 1
static inline void lock_set_priority(lock_thread_t *self, uint32_t priority) {
    processor_set_priority(self, priority);
    revocable_deposit(self, priority);
}

static inline lock_result_t revocable_acquire(lock_object_t *obj, lock_thread_t *self) {
    revocable_take(obj, self);
    revocable_pin(self);
    return SUCCESS;
}

static inline lock_result_t revocable_release(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(revocable_is_mine(load_rlx_u32(&obj->lock_word), self)))
        return ILLEGAL_STATE;
    revocable_give(obj, self);
    return SUCCESS;
}

static inline lock_result_t revocable_wait(lock_object_t *obj, lock_thread_t *self) {
    if (!revocable_is_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    revocable_pin(self);
    revocable_leave(obj, self);
    return SUCCESS;
}

/* Ends up to `limit` waits, longest first. If the section is rolled back afterwards, it has caused
 * a spurious wake-up, which Java allows (2.2): nothing is pinned. */
LOCK_SLOW lock_result_t revocable_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    if (!revocable_is_mine(load_rlx_u32(&obj->lock_word), self))
        return ILLEGAL_STATE;
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    for (; limit > 0; limit--) {
        lock_thread_t *thread = queue_take(&monitor->waiting);
        if (!thread)
            break;
        revocable_enqueue(monitor, thread);
        store_rlx_u32(&obj->lock_word, load_rlx_u32(&obj->lock_word) | REVOCABLE_WAITERS);
    }
    latch_release(&monitor->latch);
    return SUCCESS;
}

static inline bool revocable_is_idle(lock_object_t *obj) {
    return load_rlx_u32(&obj->lock_word) == 0 && load_rlx_u32(&obj->flag) == 0;
}

#endif
