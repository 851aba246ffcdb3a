/*
 * byte_lock: the mutex of parking_lot for Rust, read in Amanieu/parking_lot, src/raw_mutex.rs and
 * core/src/spinwait.rs. WebKit's WTF::Lock (Source/WTF/wtf/LockAlgorithm.h), from which it
 * descends, has the same two bits, but yields 40 times at once, without pauses.
 *
 * A CAS acquires it and a CAS releases it. A contender tries again for a while as long as nobody is
 * parked: at first with pauses that double, then yielding the processor. Then it marks the word and
 * parks in a queue that the mutex does not have itself: a table finds it by the mutex's address.
 * The release of a marked word takes the first thread from the queue and frees the word, marked
 * still if there are others; the thread that is woken competes with any that arrives.
 *
 *    31                              2   1   0
 *   +---------------------------------+---+---+
 *   | 0                               | P | H |   H = held; P = threads are parked
 *   +---------------------------------+---+---+
 *
 * The table of suspend monitors, each with its latch, takes the place of the table of queues. The
 * state is a byte there and a word here, since there is no CAS of a byte. Now and then, by a clock,
 * parking_lot hands the mutex over to the thread that it wakes: that is left out. The original
 * knows no holder and does not nest: parts/plain_mutex.h.
 */
#ifndef LOCKCROSS_BYTE_LOCK_H
#define LOCKCROSS_BYTE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/processor.h"
#include "parts/bounded_spin.h"
#include "parts/plain_mutex.h"
#include "types.h"

#define BYTE_HELD 1u
#define BYTE_PARKED 2u
#define BYTE_ROUNDS SMALL_IN_MODEL(10u, 1u) /* of spinning, */
#define BYTE_PAUSES 3u                      /* of which so many with pauses */

#define LOCK_WORD_IS_VALID(word) ((word) <= (BYTE_HELD | BYTE_PARKED))

/* One round of spinning, counted from 1. */
static inline void byte_spin(uint32_t round, lock_thread_t *self) {
#ifdef LOCKCROSS_MODEL
    (void)round, (void)self;
#else
    if (round > BYTE_PAUSES)
        yield_to_others(self);
    for (uint32_t turns = round > BYTE_PAUSES ? 0 : 1u << round; turns != 0; turns--)
        bounded_pause();
#endif
}

/* Parks, if the word is held and marked still. */
static inline void byte_park(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    if (load_rlx_u32(&obj->lock_word) == (BYTE_HELD | BYTE_PARKED))
        monitor_queue_and_park(monitor, self, false);
    else
        latch_release(&monitor->latch);
}

LOCK_SLOW void byte_lock_slow(lock_object_t *obj, lock_thread_t *self) {
    for (uint32_t rounds = 0;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if (!(word & BYTE_HELD)) {
            if (cas_acq_u32(&obj->lock_word, word, word | BYTE_HELD))
                return;
        } else if (!(word & BYTE_PARKED) && rounds < BYTE_ROUNDS) {
            byte_spin(++rounds, self);
        } else if (word & BYTE_PARKED || cas_rlx_u32(&obj->lock_word, word, word | BYTE_PARKED)) {
            byte_park(obj, self);
            rounds = 0;
        }
    }
}

static inline void byte_lock_lock(lock_object_t *obj, lock_thread_t *self) {
    /* free, and nobody parked -> held */
    if (!LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, BYTE_HELD)))
        byte_lock_slow(obj, self);
}

/* Releases a marked word. */
LOCK_SLOW void byte_unlock_slow(lock_object_t *obj) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    lock_thread_t *next = queue_take(&monitor->entry);
    store_rel_u32(&obj->lock_word, monitor->entry.head ? BYTE_PARKED : 0);
    monitor_wake(monitor, next);
}

static inline void byte_lock_unlock(lock_object_t *obj) {
    /* held -> free, unless somebody has parked */
    if (!LOCK_LIKELY(cas_rel_u32(&obj->lock_word, BYTE_HELD, 0)))
        byte_unlock_slow(obj);
}

PLAIN_MUTEX(byte_lock)

#endif
