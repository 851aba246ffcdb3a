/*
 * futex_mutex: the mutex of Rust's standard library on Linux, read in rust-lang/rust,
 * library/std/src/sys/sync/mutex/futex.rs. glibc's default mutex has the same states, but does not
 * spin before it sleeps, and stores its owner and its users.
 *
 * A CAS acquires it, a swap releases it. A contender first watches the word, as long as nobody
 * sleeps, up to 100 times; then it swaps in that somebody sleeps, which acquires the mutex if it
 * was free, and else sleeps in the kernel as long as the word says so. The swap of a release tells
 * whether to wake a thread. Who has slept leaves the mutex marked, since others may sleep still.
 *
 *    31                              2 1    0
 *   +---------------------------------+------+
 *   | 0                               | 00   |   free
 *   | 0                               | 01   |   held
 *   | 0                               | 10   |   held, and threads may sleep
 *   +---------------------------------+------+
 *
 * The entry queue of the object's suspend monitor takes the place of the kernel's queue, its latch
 * that of the kernel's lock. A pause is isb on AArch64, as in Rust. The original knows no holder
 * and does not nest: parts/plain_mutex.h.
 */
#ifndef LOCKCROSS_FUTEX_MUTEX_H
#define LOCKCROSS_FUTEX_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "parts/bounded_spin.h"
#include "parts/plain_mutex.h"
#include "types.h"

enum { FUTEX_FREE = 0, FUTEX_HELD = 1, FUTEX_SLEEPERS = 2 };
#define FUTEX_SPINS SMALL_IN_MODEL(100u, 1u)

#define LOCK_WORD_IS_VALID(word) ((word) <= FUTEX_SLEEPERS)

/* Sleeps, if the word still says that somebody does. */
static inline void futex_sleep(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    if (load_rlx_u32(&obj->lock_word) == FUTEX_SLEEPERS)
        monitor_queue_and_park(monitor, self, false);
    else
        latch_release(&monitor->latch);
}

LOCK_SLOW void futex_wake(lock_object_t *obj) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    lock_thread_t *next = queue_take(&monitor->entry);
    monitor_wake(monitor, next);
}

/* Watches the word while nobody sleeps, for some time; returns it. */
static inline uint32_t futex_watch(const lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    for (uint32_t turns = FUTEX_SPINS; word == FUTEX_HELD && turns != 0; turns--) {
        bounded_pause();
        word = load_rlx_u32(&obj->lock_word);
    }
    return word;
}

LOCK_SLOW void futex_lock_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = futex_watch(obj);
    if (word == FUTEX_FREE && cas_acq_u32(&obj->lock_word, FUTEX_FREE, FUTEX_HELD))
        return;
    while (word == FUTEX_SLEEPERS ||
           swap_acq_rel_u32(&obj->lock_word, FUTEX_SLEEPERS) != FUTEX_FREE) {
        futex_sleep(obj, self);
        word = futex_watch(obj);
    }
}

static inline void futex_mutex_lock(lock_object_t *obj, lock_thread_t *self) {
    /* free -> held */
    if (!LOCK_LIKELY(cas_acq_u32(&obj->lock_word, FUTEX_FREE, FUTEX_HELD)))
        futex_lock_slow(obj, self);
}

static inline void futex_mutex_unlock(lock_object_t *obj) {
    /* -> free, whatever it was; it says whether somebody sleeps */
    if (!LOCK_LIKELY(swap_rel_u32(&obj->lock_word, FUTEX_FREE) == FUTEX_HELD))
        futex_wake(obj);
}

PLAIN_MUTEX(futex_mutex)

#endif
