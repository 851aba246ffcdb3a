/*
 * The tasuki lock around a replaceable spin lock: Kawachiya 2005, section 6.5.2, Figure 6.10 (the
 * algorithm of section 4.5, Figure 4.7). Part of tasuki.h, reservation.h and asym_tasuki.h.
 *
 * Flat, the Java lock is the spin lock. A contender enters the object's monitor, sets the FLC (flat
 * lock contention) bit in the flag word and tries the spin lock again: if it gets it, it inflates;
 * otherwise it waits on the monitor. The holder tests the FLC bit after it has released the spin
 * lock and wakes a waiter. FLC and shape bit change only within the monitor.
 *
 *   contender                    holder
 *   t0  set FLC                  t2  release the spin lock
 *   t1  try the spin lock: lost  t3  test FLC
 *
 * If t1 comes before t2, t0 must come before t3, so both sides need store-to-load ordering (4.5.5).
 * The contender needs it on x86-64 too: a replaceable spin lock may load the lock word and decide
 * from that, which no CAS orders. Its side is the slow path and has the full fence or, with fence
 * kind membarrier, a process-wide barrier; the holder's side has the fence kind.
 *
 * Deflation (4.6) happens on the last release, if nobody has ever waited on the object (the nowait
 * group) and the monitor's queues are empty. The check takes no latch: a thread that comes later
 * tests the shape bit again once it is in the monitor (4.5.3).
 *
 * The spin lock is that of tasuki_spin.h, unless the including header defines another one before it
 * includes this header, in terms of its lock word:
 *   SPIN_SHAPE, SPIN_MONITOR_SHIFT   shape bit; place of the monitor index
 *   spin_try_acquire(obj, self)      one attempt at the outermost acquisition
 *   spin_is_acquired(word, self)     flat and held by self
 *   spin_is_free(word)               flat and held by nobody
 *   spin_holds(word)                 how often the holder has acquired it
 *   spin_unnest(obj, word, self)     undoes a nested acquisition
 *   spin_release_then_load_flag(obj, word, self)   the outermost release, t2 and t3
 *   spin_inflate(obj, monitor, self), spin_deflate(obj, monitor, self)
 * Two choices are those of the variant jdk116 of tasuki.h:
 *   CORE_CACHES_MONITORS   a thread looks for a monitor in a cache of its own first (4.6.1)
 *   CORE_COUNTS_ENTRANTS   no deflation before each thread that found the lock taken has acquired
 *                          it, even if none is queued; the monitor's MONITOR_WORD is `entrants`
 */
#ifndef LOCKCROSS_TASUKI_CORE_H
#define LOCKCROSS_TASUKI_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "types.h"

#ifndef SPIN_SHAPE
#include "parts/tasuki_spin.h"
#endif
#define CORE_CACHES_MONITORS LOCKCROSS_VARIANT_JDK116
#define CORE_COUNTS_ENTRANTS LOCKCROSS_VARIANT_JDK116
#if CORE_CACHES_MONITORS
#include "monitor/multiprocessor.h"
#include "monitor/thread_cache.h"
#endif

#define FLAG_FLC 1u
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & SPIN_SHAPE) != 0)

static inline monitor_t *core_monitor(uint32_t word) {
    return monitor_at((word & ~SPIN_SHAPE) >> SPIN_MONITOR_SHIFT);
}

#if CORE_CACHES_MONITORS
#define CORE_LOOKUP(obj, self) thread_cache_lookup(obj, self)
static inline monitor_t *core_obtain_cached_monitor(lock_object_t *obj, const lock_thread_t *self) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    return word & SPIN_SHAPE ? core_monitor(word) : thread_cache_lookup(obj, self);
}
#define CORE_OBTAIN_MONITOR(obj, self) core_obtain_cached_monitor(obj, self)
#else
#define CORE_LOOKUP(obj, self) lookup_monitor(obj)
static inline monitor_t *core_obtain_monitor(lock_object_t *obj) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    return word & SPIN_SHAPE ? core_monitor(word) : lookup_monitor(obj);
}
#define CORE_OBTAIN_MONITOR(obj, self) core_obtain_monitor(obj)
#endif

/* In the monitor, with the spin lock held by `self`: inflates the lock, held `holds` times. */
LOCK_SLOW void core_inflate(lock_object_t *obj, monitor_t *monitor, lock_thread_t *self,
                            uint32_t holds) {
    store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) & ~FLAG_FLC);
    monitor_notify(monitor, self, MONITOR_NOTIFY_ALL);
    monitor->recursion = holds;
    spin_inflate(obj, monitor, self);
}

#if CORE_COUNTS_ENTRANTS
/* Of threads that have found the lock taken, until they have acquired it. */
static inline void core_add_entrants(monitor_t *monitor, uint32_t number) {
    if (number != 0)
        fetch_add_rel_u32(&monitor->entrants, number);
}
#endif

#if LOCKCROSS_VARIANT_JDK116
/* On a multiprocessor the bit is set before the attempt that follows. */
static inline void core_set_flc(lock_object_t *obj) {
    uint32_t set = load_rlx_u32(&obj->flag) | FLAG_FLC;
    if (!is_multiprocessor()) {
        store_rlx_u32(&obj->flag, set);
        return;
    }
#if FENCE_IS_ASYMMETRIC
    store_rlx_u32(&obj->flag, set);
    process_barrier();
#else
    store_then_fence_u32(&obj->flag, set);
#endif
}
#endif

LOCK_SLOW lock_result_t core_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = CORE_OBTAIN_MONITOR(obj, self);
#if CORE_COUNTS_ENTRANTS
    bool is_entrant = load_rlx_u32(&monitor->holder) != 0 && !monitor_held_by(monitor, self);
    core_add_entrants(monitor, is_entrant);
#endif
    monitor_enter(monitor, self);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (spin_is_acquired(word, self)) { /* the nest count is full */
        core_inflate(obj, monitor, self, spin_holds(word) + 1);
#if CORE_COUNTS_ENTRANTS
        core_add_entrants(monitor, -(uint32_t)is_entrant);
#endif
        return SUCCESS;
    }
    while (!(load_rlx_u32(&obj->lock_word) & SPIN_SHAPE)) {
#if LOCKCROSS_VARIANT_JDK116
        core_set_flc(obj);
#elif !FENCE_IS_ASYMMETRIC
        store_then_fence_u32(&obj->flag, load_rlx_u32(&obj->flag) | FLAG_FLC);
#else
        store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) | FLAG_FLC);
        process_barrier();
#endif
#if CORE_COUNTS_ENTRANTS
        core_add_entrants(monitor, !is_entrant);
        is_entrant = true;
#endif
        if (spin_try_acquire(obj, self))
            core_inflate(obj, monitor, self, 1);
        else
            monitor_wait(monitor, self);
    }
#if CORE_COUNTS_ENTRANTS
    core_add_entrants(monitor, -(uint32_t)is_entrant);
#endif
    return SUCCESS;
}

/* The FLC bit was seen after a release: wakes one contender, if none is awake by now. */
LOCK_SLOW void core_wake_contender(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = CORE_OBTAIN_MONITOR(obj, self);
    monitor_enter(monitor, self);
    if (load_rlx_u32(&obj->flag) & FLAG_FLC)
        monitor_notify(monitor, self, 1);
    monitor_exit(monitor, self);
}

LOCK_SLOW lock_result_t core_release_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!(word & SPIN_SHAPE))
        return ILLEGAL_STATE;
    monitor_t *monitor = core_monitor(word);
    if (!monitor_held_by(monitor, self))
        return ILLEGAL_STATE;
    if (monitor->recursion == 1 && monitor->waited == 0 && !monitor_has_queue(monitor))
#if CORE_COUNTS_ENTRANTS
        if (load_rlx_u32(&monitor->entrants) == 0)
#endif
            spin_deflate(obj, monitor, self);
    return monitor_exit(monitor, self);
}

/* Releases, given the lock word just loaded. */
static inline lock_result_t core_release(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    if (!LOCK_LIKELY(spin_is_acquired(word, self)))
        return core_release_slow(obj, self);
    if (!LOCK_LIKELY(spin_holds(word) == 1)) {
        spin_unnest(obj, word, self);
        return SUCCESS;
    }
    if (!LOCK_LIKELY((spin_release_then_load_flag(obj, word, self) & FLAG_FLC) == 0))
        core_wake_contender(obj, self);
    return SUCCESS;
}

LOCK_SLOW lock_result_t core_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    monitor_t *monitor;
    if (word & SPIN_SHAPE) {
        monitor = core_monitor(word);
        if (!monitor_held_by(monitor, self))
            return ILLEGAL_STATE;
    } else {
        if (!spin_is_acquired(word, self))
            return ILLEGAL_STATE;
        monitor = CORE_LOOKUP(obj, self);
        monitor_enter(monitor, self);
        core_inflate(obj, monitor, self, spin_holds(word));
    }
    monitor->waited++;
    return monitor_wait(monitor, self);
}

/* Flat, nobody can be waiting for a notification. */
static inline lock_result_t core_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & SPIN_SHAPE)
        return monitor_notify(core_monitor(word), self, limit);
    return spin_is_acquired(word, self) ? SUCCESS : ILLEGAL_STATE;
}

static inline bool core_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (load_rlx_u32(&obj->flag) & FLAG_FLC)
        return false;
    return word & SPIN_SHAPE ? monitor_is_idle(core_monitor(word)) : spin_is_free(word);
}

#endif
