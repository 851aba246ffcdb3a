/*
 * asym_tasuki: the asymmetric tasuki lock of Kawachiya 2005, section 6.5.3, Figures 6.10 to 6.13.
 *
 * The tasuki lock (tasuki_core.h) whose flat lock is the one-word asymmetric spin lock: its first
 * acquirer owns it permanently and acquires it by a byte store and a load of the word, without
 * atomics; other threads use a CAS. Nothing is cancelled: inflation saves the owner in the monitor
 * and deflation restores it.
 *
 *    31 30   28 27             18 17              8 7             0
 *   +--+-------+-----------------+-----------------+---------------+
 *   |0 | rcnt  | other           | owner           | owner_status  |   flat
 *   +--+-------+-----------------+-----------------+---------------+
 *   |1 | monitor index (23 bits)                   | owner_status  |   inflated
 *   +--+-------------------------------------------+---------------+
 *   shape       rcnt = acquisitions - 1; the FLC bit is in the flag word, as in tasuki.h
 *
 * Writers: the owner writes owner_status by byte stores, at any time, even while another thread
 * holds the lock or changes its mode; so a mode transition by a thread that is not the owner keeps
 * it with a CAS, and the holder writes rcnt by a byte store to the leftmost byte (footnote 6).
 *
 * With fence kind membarrier the owner's store may still be unseen when that CAS succeeds. So
 * another thread makes a process-wide barrier and looks again: if the owner is inside after all, it
 * takes `other` back and goes to the monitor. The owner may meanwhile write rcnt, whose byte must
 * then have no bit of `other`:
 *
 *    31 30   28 27  24 23        16 15         8 7             0
 *   +--+-------+------+------------+------------+---------------+
 *   |0 | rcnt  |      | other      | owner      | owner_status  |   flat, fence kind membarrier
 *   +--+-------+------+------------+------------+---------------+
 *
 * One departure from Figure 6.12: an attempt that loaded an inflated word fails at once. The figure
 * goes on to a CAS whose expected value is then taken from bits of the monitor index; if the lock
 * is deflated in between and those bits are the owner's identifier, the owner would acquire its own
 * lock as `other`. Before a wait, and when rcnt is full, the nest count goes into the monitor.
 */
#ifndef LOCKCROSS_ASYM_TASUKI_H
#define LOCKCROSS_ASYM_TASUKI_H

#include <stdbool.h>
#include <stdint.h>

#define MONITOR_WORD spin_owner /* owner of the spin lock, written by the holder */
#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "types.h"

#define SPIN_SHAPE 0x80000000u
#define SPIN_MONITOR_SHIFT 8
#define ASYM_STATUS 0x000000ffu
#if !FENCE_IS_ASYMMETRIC
#define ASYM_OWNER 0x0003ff00u
#define ASYM_OTHER 0x0ffc0000u
#define ASYM_OTHER_SHIFT 18
#define ASYM_OWNER_TO_OTHER(tid_field) ((tid_field) << 10)
#else
#define ASYM_OWNER 0x0000ff00u
#define ASYM_OTHER 0x00ff0000u
#define ASYM_OTHER_SHIFT 16
#define ASYM_OWNER_TO_OTHER(tid_field) ((tid_field) << 8)
#endif
#define ASYM_RCNT 0x70000000u
#define ASYM_RCNT_ONE 0x10000000u
#define ASYM_MONITOR 0x7fffff00u

enum { asym_tasuki_initial_word = 0, asym_tasuki_tid_shift = 8, asym_tasuki_misc_mask = 0 };

/* What the diagram allows. The owner may set its status while another thread is inside, but a lock
 * without an owner is new, the owner is never `other`, and rcnt is that of a holder. */
static inline bool asym_tasuki_word_is_valid(uint32_t word) {
    uint32_t owner = word & ASYM_OWNER, other = word & ASYM_OTHER;
    if (word & SPIN_SHAPE)
        return ((word & ASYM_MONITOR) >> SPIN_MONITOR_SHIFT) - 1 < MONITOR_POOL_SIZE;
    if (owner == 0)
        return word == 0;
    return owner >> 8 <= LOCK_MAX_THREADS && other >> ASYM_OTHER_SHIFT <= LOCK_MAX_THREADS &&
           other != ASYM_OWNER_TO_OTHER(owner) &&
           (!(word & ASYM_RCNT) || other || word & ASYM_STATUS);
}
#define LOCK_WORD_IS_VALID(word) asym_tasuki_word_is_valid(word)

static inline bool spin_is_owner(uint32_t word, const lock_thread_t *self) {
    return (word & (SPIN_SHAPE | ASYM_OWNER)) == self->tid_field;
}

static inline bool spin_is_acquired(uint32_t word, const lock_thread_t *self) {
    if (LOCK_LIKELY(spin_is_owner(word, self)))
        return (word & ASYM_STATUS) != 0;
    return (word & (SPIN_SHAPE | ASYM_OTHER)) == ASYM_OWNER_TO_OTHER(self->tid_field);
}

static inline bool spin_is_free(uint32_t word) {
    return (word & (SPIN_SHAPE | ASYM_OTHER | ASYM_STATUS)) == 0;
}

static inline uint32_t spin_holds(uint32_t word) { return (word & ASYM_RCNT) / ASYM_RCNT_ONE + 1; }

/* The owner's attempt, if it does not hold the lock. */
static inline bool spin_try_acquire_as_owner(lock_object_t *obj) {
    uint32_t word = store_u8_then_load_acq_u32(&obj->lock_word, 0, 1);
    if (LOCK_LIKELY((word & (SPIN_SHAPE | ASYM_OTHER)) == 0))
        return true;
#if !FENCE_IS_ASYMMETRIC
    store_rlx_u8((volatile uint8_t *)&obj->lock_word, 0);
    return false;
#else /* another thread that finds the zero goes on where the owner's last section ended */
    store_rel_u8((volatile uint8_t *)&obj->lock_word, 0);
    return false;
#endif
}

#if FENCE_IS_ASYMMETRIC
/* A CAS that has set `other` is a claim alone: whether it holds, since the owner is not inside.
 * Else the claim is given back, unless the owner has overwritten it with another mode. Who loses so
 * goes on to the monitor, as do those whom the claim kept out. */
static inline bool spin_claim_holds(lock_object_t *obj, uint32_t claimed) {
    process_barrier();
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (LOCK_LIKELY(word == claimed))
        return true;
    while ((word & (SPIN_SHAPE | ASYM_OTHER)) == (claimed & ASYM_OTHER) &&
           !cas_rlx_u32(&obj->lock_word, word, word & ~ASYM_OTHER))
        word = load_rlx_u32(&obj->lock_word);
    return false;
}
#endif

/* The attempt of any other thread, or on a lock without an owner. */
static inline bool spin_try_acquire_by_cas(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    uint32_t owner = word & ASYM_OWNER;
    if (word & SPIN_SHAPE)
        return false;
    if (owner == 0)
        return cas_acq_u32(&obj->lock_word, 0, self->tid_field | 1);
#if !FENCE_IS_ASYMMETRIC
    return cas_acq_u32(&obj->lock_word, owner, owner | ASYM_OWNER_TO_OTHER(self->tid_field));
#else
    uint32_t claimed = owner | ASYM_OWNER_TO_OTHER(self->tid_field);
    return cas_acq_u32(&obj->lock_word, owner, claimed) && spin_claim_holds(obj, claimed);
#endif
}

static inline bool spin_try_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return spin_is_owner(word, self) ? spin_try_acquire_as_owner(obj)
                                     : spin_try_acquire_by_cas(obj, self, word);
}

/* Writes the holder's rcnt, with upper bits of `other`, which do not change while it holds. */
static inline void spin_store_leftmost(lock_object_t *obj, uint32_t word) {
    store_rlx_u8((volatile uint8_t *)&obj->lock_word + 3, (uint8_t)(word >> 24));
}

static inline void spin_unnest(lock_object_t *obj, uint32_t word, lock_thread_t *self) {
    (void)self;
    spin_store_leftmost(obj, word - ASYM_RCNT_ONE);
}

static inline uint32_t spin_release_then_load_flag(lock_object_t *obj, uint32_t word,
                                                   lock_thread_t *self) {
    if (LOCK_LIKELY((word & ASYM_OWNER) == self->tid_field))
        return store_rel_u8_then_load_next(&obj->lock_word, 0, 0);
    return store_rel_u16_then_load_next(&obj->lock_word, 1, (uint16_t)((word & ~ASYM_OTHER) >> 16));
}

/* Replaces all but owner_status. For the owner a store suffices: only it writes owner_status, and
 * its status is zero afterwards. */
static inline void spin_transition(lock_object_t *obj, lock_thread_t *self, uint32_t owner,
                                   uint32_t word) {
    if (owner == self->tid_field) {
        store_rel_u32(&obj->lock_word, word);
        return;
    }
    uint32_t old;
    do
        old = load_rlx_u32(&obj->lock_word);
    while (!cas_acq_rel_u32(&obj->lock_word, old, word | (old & ASYM_STATUS)));
}

static inline void spin_inflate(lock_object_t *obj, monitor_t *monitor, lock_thread_t *self) {
    monitor->spin_owner = load_rlx_u32(&obj->lock_word) & ASYM_OWNER;
    spin_transition(obj, self, monitor->spin_owner,
                    SPIN_SHAPE | monitor->index << SPIN_MONITOR_SHIFT);
}

static inline void spin_deflate(lock_object_t *obj, monitor_t *monitor, lock_thread_t *self) {
    spin_transition(obj, self, monitor->spin_owner, monitor->spin_owner);
}

/* Around the spin lock above. */
#include "parts/tasuki_core.h"

/* Another acquisition by the thread that holds the flat lock. */
static inline lock_result_t asym_tasuki_nest(lock_object_t *obj, lock_thread_t *self,
                                             uint32_t word) {
    if (!LOCK_LIKELY((word & ASYM_RCNT) != ASYM_RCNT))
        return core_acquire_slow(obj, self);
    spin_store_leftmost(obj, word + ASYM_RCNT_ONE);
    return SUCCESS;
}

/* The owner's path comes first in the code, since the lock exists for it. */
static inline lock_result_t asym_tasuki_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    bool acquired;
    if (LOCK_LIKELY(spin_is_owner(word, self))) {
        if (!LOCK_LIKELY((word & ASYM_STATUS) == 0))
            return asym_tasuki_nest(obj, self, word);
        acquired = spin_try_acquire_as_owner(obj);
    } else {
        if (spin_is_acquired(word, self))
            return asym_tasuki_nest(obj, self, word);
        acquired = spin_try_acquire_by_cas(obj, self, word);
    }
    return LOCK_LIKELY(acquired) ? SUCCESS : core_acquire_slow(obj, self);
}

static inline lock_result_t asym_tasuki_release(lock_object_t *obj, lock_thread_t *self) {
    return core_release(obj, self, load_rlx_u32(&obj->lock_word));
}

static inline lock_result_t asym_tasuki_wait(lock_object_t *obj, lock_thread_t *self) {
    return core_wait(obj, self);
}

static inline lock_result_t asym_tasuki_notify(lock_object_t *obj, lock_thread_t *self,
                                               uint32_t limit) {
    return core_notify(obj, self, limit);
}

static inline bool asym_tasuki_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return (word & ASYM_STATUS) == 0 && core_is_idle(obj);
}

#endif
