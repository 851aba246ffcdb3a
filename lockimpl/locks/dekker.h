/*
 * dekker: the Dekker-style spin lock for two threads of Kawachiya 2005, section 6.4.1, Figure 6.6.
 *
 * Each of the two threads has a flag. To acquire, it sets its own and then loads the other's: if
 * that is clear it has the lock, otherwise it clears its own and tries again. To release, it clears
 * its own. There is no atomic; the fence kind orders store and load. The threads are those with the
 * tids 1 and 2. With fence kind membarrier the first has the light side and the second the heavy
 * one: two light sides would not keep each other out, and two heavy ones would interrupt each other
 * at every acquisition.
 *
 *    31                              0     31                              0
 *   +---------------------------------+   +---------------------------------+
 *   | status[0]: holds of tid 1, or 0 |   | status[1]: holds of tid 2, or 0 |
 *   +---------------------------------+   +---------------------------------+
 *              lock word                              flag word
 *    63                              32 31                             0
 *   +----------------------------------+--------------------------------+
 *   |                                  | turn: 0 for tid 1, 1 for tid 2 |
 *   +----------------------------------+--------------------------------+
 *                               extra[0]
 *
 * Where the figure is silent: it has no recursion; here a flag that is set counts its thread's
 * acquisitions. The figure can livelock, as 6.4.2 says. After a failure a thread backs off
 * (back_off.h), then spins on loads until the other's flag is clear. With a process-wide barrier,
 * which is dear, the second thread leaves its flag set instead and waits until the first is gone.
 *
 * Variant turn has Dekker's own remedy (6.4.2; Dijkstra 1968), "a field to indicate which [...]
 * takes precedence on contention", which the source leaves out "because it increases memory
 * accesses". Of two threads that both want the lock, the one whose turn it is keeps its flag set
 * and waits for the other's to be clear; the other clears its own and waits for its turn. An
 * outermost release passes the turn on, which is the further access. Nobody backs off, and neither
 * thread overtakes the other twice.
 */
#ifndef LOCKCROSS_DEKKER_H
#define LOCKCROSS_DEKKER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/back_off.h"
#include "parts/without_wait.h"
#include "types.h"

enum { dekker_initial_word = 0, dekker_tid_shift = 0, dekker_misc_mask = 0 };

static inline volatile uint32_t *dekker_status(lock_object_t *obj, uint32_t tid) {
    return (volatile uint32_t *)obj + (tid - 1);
}

#if LOCKCROSS_VARIANT_TURN
static inline volatile uint32_t *dekker_turn(lock_object_t *obj) {
    return (volatile uint32_t *)&obj->extra[0];
}

/* Sets the thread's flag and tells whether the other's is clear. */
static inline bool dekker_raise(volatile uint32_t *mine, volatile uint32_t *another,
                                lock_thread_t *self) {
    (void)self;
#if FENCE_IS_ASYMMETRIC
    if (self->tid != 1) {
        store_rlx_u32(mine, 1);
        process_barrier();
        return load_acq_u32(another) == 0;
    }
#endif
    uint32_t seen = store_u32_then_load_other_acq_u32(mine, 1, another);
    return LOCK_LIKELY(seen == 0);
}

/* Both flags were set. A thread that waits for a zero goes on where the last section of the other,
 * which gives way, ended: so giving way is a release, too. */
LOCK_SLOW lock_result_t dekker_acquire_slow(lock_object_t *obj, volatile uint32_t *mine,
                                            volatile uint32_t *another, lock_thread_t *self) {
    do {
        if (load_rlx_u32(dekker_turn(obj)) == self->tid - 1) {
            while (load_acq_u32(another) != 0)
                spin_wait(self);
            return SUCCESS;
        }
        store_rel_u32(mine, 0);
        while (load_rlx_u32(dekker_turn(obj)) != self->tid - 1)
            spin_wait(self);
    } while (!dekker_raise(mine, another, self));
    return SUCCESS;
}

#else
/* One attempt of a thread that does not hold the lock. */
static inline bool dekker_try_acquire(volatile uint32_t *mine, volatile uint32_t *another) {
    if (LOCK_LIKELY(store_u32_then_load_other_acq_u32(mine, 1, another) == 0))
        return true;
#if !FENCE_IS_ASYMMETRIC
    store_rlx_u32(mine, 0);
#else /* a second thread that waits for the zero goes on where the first one's last section ended  \
       */
    store_rel_u32(mine, 0);
#endif
    return false;
}

#if FENCE_IS_ASYMMETRIC
/* The second thread. */
static inline void dekker_acquire_heavy(volatile uint32_t *mine, volatile uint32_t *another,
                                        lock_thread_t *self) {
    store_rlx_u32(mine, 1);
    process_barrier();
    while (load_acq_u32(another) != 0)
        spin_wait(self);
}
#endif

LOCK_SLOW lock_result_t dekker_acquire_slow(volatile uint32_t *mine, volatile uint32_t *another,
                                            lock_thread_t *self) {
    uint32_t failures = 0;
    do {
        back_off(self, &failures);
        while (load_rlx_u32(another) != 0)
            spin_wait(self);
    } while (!dekker_try_acquire(mine, another));
    return SUCCESS;
}
#endif

static inline lock_result_t dekker_acquire(lock_object_t *obj, lock_thread_t *self) {
    volatile uint32_t *mine = dekker_status(obj, self->tid);
    uint32_t holds = load_rlx_u32(mine);
    if (!LOCK_LIKELY(holds == 0)) {
        store_rlx_u32(mine, holds + 1);
        return SUCCESS;
    }
    volatile uint32_t *another = dekker_status(obj, 3 - self->tid);
#if LOCKCROSS_VARIANT_TURN
    if (LOCK_LIKELY(dekker_raise(mine, another, self)))
        return SUCCESS;
    return dekker_acquire_slow(obj, mine, another, self);
#else
#if FENCE_IS_ASYMMETRIC
    if (!LOCK_LIKELY(self->tid == 1)) {
        dekker_acquire_heavy(mine, another, self);
        return SUCCESS;
    }
#endif
    if (LOCK_LIKELY(dekker_try_acquire(mine, another)))
        return SUCCESS;
    return dekker_acquire_slow(mine, another, self);
#endif
}

static inline lock_result_t dekker_release(lock_object_t *obj, lock_thread_t *self) {
    volatile uint32_t *mine = dekker_status(obj, self->tid);
    uint32_t holds = load_rlx_u32(mine);
    if (!LOCK_LIKELY(holds != 0))
        return ILLEGAL_STATE;
#if LOCKCROSS_VARIANT_TURN
    if (LOCK_LIKELY(holds == 1))
        store_rlx_u32(dekker_turn(obj), 2 - self->tid);
#endif
    store_rel_u32(mine, holds - 1);
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(dekker)

static inline bool dekker_is_idle(lock_object_t *obj) {
    return obj->lock_word == 0 && obj->flag == 0;
}

#endif
