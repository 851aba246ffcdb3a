/*
 * go_mutex: sync.Mutex of Go, read in golang/go, src/internal/sync/mutex.go; its queue is that of
 * src/runtime/sema.go.
 *
 * A CAS acquires it, and an atomic addition releases it, which shows whether threads wait. A
 * contender spins up to four times while the mutex is held and nobody starves; if threads wait, it
 * says by `woken` that none of them need be woken. Then it is counted among the waiting and sleeps
 * on a semaphore. A release wakes one of them, which competes with any that arrives: who spins
 * mostly wins. A thread that loses goes back to the head of the queue, and one that has waited for
 * more than a millisecond makes the mutex starving: new threads do not compete then, but queue, and
 * each release hands the mutex over to the head of the queue. The last that waits, or one that has
 * waited for less, ends that.
 *
 *    31                     3    2          1       0
 *   +------------------------+----------+-------+--------+
 *   | threads that wait      | starving | woken | locked |   0: free
 *   +------------------------+----------+-------+--------+
 *
 * The entry queue of the object's suspend monitor and a count of releases that nobody slept for
 * take the place of the semaphore, and a release that wakes a thread gives the semaphore to it,
 * where Go lets it compete for that, too. Left out: on AArch64 a turn of spinning takes 30 ns from
 * Go 1.26 on, where it has 30 times `yield` here, since a spin here counts pauses and reads no
 * clock (a contender on AArch64 parks some 100 ns too soon); a goroutine that sleeps is switched
 * without the kernel while others can run, and spins only if none waits to run on its processor:
 * here each park is the kernel's. In a model, which has no time, a thread with an odd number
 * starves when it is woken first, one with an even number the second time. The original knows no
 * holder and does not nest: parts/plain_mutex.h.
 */
#ifndef LOCKCROSS_GO_MUTEX_H
#define LOCKCROSS_GO_MUTEX_H

#define MONITOR_WORD unslept /* releases of the semaphore before anyone slept on it */

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/timed_park.h"
#include "parts/bounded_spin.h"
#include "parts/plain_mutex.h"
#include "types.h"

#define GO_LOCKED 1u
#define GO_WOKEN 2u
#define GO_STARVING 4u
#define GO_WAITER 8u
#define GO_SPINS SMALL_IN_MODEL(4u, 1u)
#define GO_PAUSES 30u /* in each */
#define GO_STARVES_AFTER MILLISECOND

#define LOCK_WORD_IS_VALID(word) ((word) / GO_WAITER <= LOCK_MAX_THREADS)

/* How long a thread has waited. */
typedef struct {
    uint64_t since; /* in a model: how often it was woken */
    bool waits;
} go_wait_t;

#ifdef LOCKCROSS_MODEL
static inline void go_begin_wait(go_wait_t *waited, lock_thread_t *self) {
    (void)self;
    waited->waits = true;
}
static inline bool go_starves(go_wait_t *waited, lock_thread_t *self) {
    return ++waited->since > 1 || self->tid % 2 == 1;
}
#else
static inline void go_begin_wait(go_wait_t *waited, lock_thread_t *self) {
    if (!waited->waits)
        waited->since = lock_clock(self);
    waited->waits = true;
}
static inline bool go_starves(go_wait_t *waited, lock_thread_t *self) {
    return lock_clock(self) - waited->since > GO_STARVES_AFTER;
}
#endif

/* Sleeps until a release of the semaphore; who `was_queued` waits at the head. */
static inline void go_sleep(lock_object_t *obj, lock_thread_t *self, bool was_queued) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    if (monitor->unslept == 0) {
        monitor_queue_and_park(monitor, self, was_queued);
        return;
    }
    monitor->unslept--;
    latch_release(&monitor->latch);
}

static inline void go_wake(lock_object_t *obj) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    lock_thread_t *next = queue_take(&monitor->entry);
    monitor->unslept += next == 0;
    monitor_wake(monitor, next);
}

/* One turn of spinning. Returns whether `woken` is this thread's. */
static inline bool go_spin(lock_object_t *obj, uint32_t word, bool woken) {
    if (!woken && !(word & GO_WOKEN) && word >= GO_WAITER)
        woken = cas_rlx_u32(&obj->lock_word, word, word | GO_WOKEN);
    for (uint32_t pauses = GO_PAUSES; pauses != 0; pauses--)
        bounded_spin();
    return woken;
}

/* The word by which a thread that finds `word` acquires the mutex or is counted as waiting. */
static inline uint32_t go_word_of_contender(uint32_t word, bool woken, bool starves) {
    uint32_t next = word;
    if (!(word & GO_STARVING))
        next |= GO_LOCKED;
    if (word & (GO_LOCKED | GO_STARVING))
        next += GO_WAITER;
    if (starves && word & GO_LOCKED)
        next |= GO_STARVING;
    return woken ? next & ~GO_WOKEN : next;
}

/* The mutex was handed over to `self`, which is counted as waiting still. */
static inline void go_take_over(lock_object_t *obj, uint32_t word, bool starves) {
    uint32_t change = GO_LOCKED - GO_WAITER;
    if (!starves || word / GO_WAITER == 1)
        change -= GO_STARVING;
    fetch_add_acq_rel_u32(&obj->lock_word, change);
}

LOCK_SLOW void go_lock_slow(lock_object_t *obj, lock_thread_t *self) {
    go_wait_t waited = {0, false};
    bool starves = false, woken = false;
    uint32_t spins = 0;
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if ((word & (GO_LOCKED | GO_STARVING)) == GO_LOCKED && spins < GO_SPINS) {
            woken = go_spin(obj, word, woken);
            spins++;
            continue;
        }
        if (!cas_acq_u32(&obj->lock_word, word, go_word_of_contender(word, woken, starves)))
            continue;
        if (!(word & (GO_LOCKED | GO_STARVING)))
            return;
        bool was_queued = waited.waits;
        go_begin_wait(&waited, self);
        go_sleep(obj, self, was_queued);
        starves = go_starves(&waited, self) || starves;
        word = load_rlx_u32(&obj->lock_word);
        if (word & GO_STARVING) {
            go_take_over(obj, word, starves);
            return;
        }
        woken = true;
        spins = 0;
    }
}

static inline void go_mutex_lock(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, GO_LOCKED)))
        go_lock_slow(obj, self);
}

/* Behind a release that has left `word`. */
LOCK_SLOW void go_unlock_slow(lock_object_t *obj, uint32_t word) {
    while (!(word & GO_STARVING)) {
        if (word < GO_WAITER || word & (GO_LOCKED | GO_WOKEN))
            return;
        if (cas_rlx_u32(&obj->lock_word, word, (word - GO_WAITER) | GO_WOKEN))
            break;
        word = load_rlx_u32(&obj->lock_word);
        if (word & GO_STARVING)
            return; /* whoever made it so hands it over */
    }
    go_wake(obj);
}

static inline void go_mutex_unlock(lock_object_t *obj) {
    uint32_t left = fetch_add_rel_u32(&obj->lock_word, -GO_LOCKED) - GO_LOCKED;
    if (!LOCK_LIKELY(left == 0))
        go_unlock_slow(obj, left);
}

PLAIN_MUTEX(go_mutex)

#endif
