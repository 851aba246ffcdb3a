/*
 * A monitor that can be given up at any last exit: it is valid only while the lock word names it.
 * The word changes to and from it under its latch, and a thread that enters looks at the word again
 * with the latch held. Part of relaxed.h and to_lock.h, over the suspend monitor of monitor.h.
 *
 *    31 30                       8 7        0
 *   +--+---------------------------+----------+
 *   |1 | monitor index (23 bits)   | misc     |
 *   +--+---------------------------+----------+
 *   shape
 *
 * It is given up (deflated) if its queues are empty and no thread has ever waited in it for a
 * notification: the policy of Kawachiya 2005, section 4.6, for what Dice 2001 calls speculative
 * deflation.
 */
#ifndef LOCKCROSS_NAMED_MONITOR_H
#define LOCKCROSS_NAMED_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "types.h"

#define NAMED_SHAPE 0x80000000u
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & NAMED_SHAPE) != 0)
#define NAMED_MISC 0x000000ffu

static inline monitor_t *named_monitor(uint32_t word) {
    return monitor_at((word & ~NAMED_SHAPE) >> 8);
}

/* The word that names `monitor`, with the misc bits of `word`. */
static inline uint32_t named_word(const monitor_t *monitor, uint32_t word) {
    return NAMED_SHAPE | monitor->index << 8 | (word & NAMED_MISC);
}

/* Whether the word, loaded with acquire, names a monitor that `self` holds. */
static inline bool named_is_mine(uint32_t word, const lock_thread_t *self) {
    return word & NAMED_SHAPE && monitor_held_by(named_monitor(word), self);
}

/* With the latch held, which it releases, and the word naming the monitor, which `self` does not
 * hold: takes it, or waits for it once and fails. `waited`: `self` has waited before. */
static inline bool named_take(monitor_t *monitor, lock_thread_t *self, bool waited) {
    if (monitor->holder == 0) {
        store_rlx_u32(&monitor->holder, self->tid);
        latch_release(&monitor->latch);
        monitor->recursion = 1;
        return true;
    }
    monitor_queue_and_park(monitor, self, waited);
    return false;
}

/* Releases a lock that `self` does not hold flat. If the monitor is given up, the word becomes
 * `flat` with its misc bits. */
LOCK_SLOW lock_result_t named_release(lock_object_t *obj, lock_thread_t *self, uint32_t flat) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (!named_is_mine(word, self))
        return ILLEGAL_STATE;
    monitor_t *monitor = named_monitor(word);
    if (--monitor->recursion > 0)
        return SUCCESS;
    latch_acquire(&monitor->latch);
    if (monitor->waited != 0 || monitor_has_queue(monitor)) {
        monitor_vacate(monitor);
        return SUCCESS;
    }
    store_rlx_u32(&monitor->holder, 0);
    store_rel_u32(&obj->lock_word, flat | (word & NAMED_MISC));
    latch_release(&monitor->latch);
    return SUCCESS;
}

/* Waits for a notification in a monitor that `self` holds. */
static inline lock_result_t named_wait(monitor_t *monitor, lock_thread_t *self) {
    monitor->waited++;
    return monitor_wait(monitor, self);
}

#endif
