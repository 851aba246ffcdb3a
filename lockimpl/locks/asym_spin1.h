/*
 * asym_spin1: the asymmetric spin lock in one word, Kawachiya 2005, section 6.4.5, Figures 6.7 and
 * 6.8.
 *
 * The first acquirer becomes the permanent owner. The owner acquires by storing its status byte and
 * then loading the whole word: if `other` is zero it has the lock. Any other thread acquires by one
 * CAS on the whole word, from "owner, nobody inside" to "owner, other = me". The fence kind orders
 * the owner's store and load. With fence kind membarrier the owner's store may still be unseen when
 * that CAS succeeds: then `other` is a claim that keeps the owner out from the next time on, and
 * its thread waits, behind a process-wide barrier, until owner_status is zero.
 *
 *    31              20 19              8 7             0     31                 0
 *   +------------------+-----------------+---------------+   +--------------------+
 *   | other            | owner           | owner_status  |   | recursions (holder)|
 *   +------------------+-----------------+---------------+   +--------------------+
 *                        lock word                                 flag word
 *
 * Writers: the owner writes owner_status by byte stores; `other` is set by CAS and cleared by a
 * half-word store of its holder (with the upper four bits of owner, which never change). Where the
 * source is silent: the flag word counts the acquisitions after the first, and only the holder uses
 * it; between attempts a thread spins on loads with cpu_relax.
 */
#ifndef LOCKCROSS_ASYM_SPIN1_H
#define LOCKCROSS_ASYM_SPIN1_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/without_wait.h"
#include "types.h"

#define ASYM_STATUS 0x000000ffu
#define ASYM_OWNER 0x000fff00u
#define ASYM_OTHER 0xfff00000u
#define ASYM_OWNER_TO_OTHER(tid_field) ((tid_field) << 12)

enum { asym_spin1_initial_word = 0, asym_spin1_tid_shift = 8, asym_spin1_misc_mask = 0 };

/* What the diagram allows. The owner may set its status while another thread is inside, but a lock
 * without an owner is new, and the owner is never `other`. */
static inline bool asym_spin1_word_is_valid(uint32_t word) {
    uint32_t owner = word & ASYM_OWNER, other = word & ASYM_OTHER;
    if (owner == 0)
        return word == 0;
    return owner >> 8 <= LOCK_MAX_THREADS && other >> 20 <= LOCK_MAX_THREADS &&
           other != ASYM_OWNER_TO_OTHER(owner);
}
#define LOCK_WORD_IS_VALID(word) asym_spin1_word_is_valid(word)

#if FENCE_IS_ASYMMETRIC
/* Any thread but the owner, whose CAS has set `other`. */
static inline bool asym_spin1_claim(lock_object_t *obj, lock_thread_t *self) {
    process_barrier();
    while (load_acq_u32(&obj->lock_word) & ASYM_STATUS)
        spin_wait(self);
    return true;
}
#endif

/* One attempt of a thread that does not hold the lock, given the lock word just loaded. */
static inline bool asym_spin1_try_acquire(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    uint32_t owner = word & ASYM_OWNER;
    if (LOCK_LIKELY(owner == self->tid_field)) {
        if (LOCK_LIKELY(!(store_u8_then_load_acq_u32(&obj->lock_word, 0, 1) & ASYM_OTHER)))
            return true;
#if !FENCE_IS_ASYMMETRIC
        store_rlx_u8((volatile uint8_t *)&obj->lock_word, 0);
#else /* another thread that waits for the zero goes on where the owner's last section ended */
        store_rel_u8((volatile uint8_t *)&obj->lock_word, 0);
#endif
        return false;
    }
    if (owner == 0)
        return cas_acq_u32(&obj->lock_word, 0, self->tid_field | 1);
#if !FENCE_IS_ASYMMETRIC
    return cas_acq_u32(&obj->lock_word, owner, owner | ASYM_OWNER_TO_OTHER(self->tid_field));
#else
    return cas_acq_u32(&obj->lock_word, owner, owner | ASYM_OWNER_TO_OTHER(self->tid_field)) &&
           asym_spin1_claim(obj, self);
#endif
}

static inline bool asym_spin1_is_acquired(uint32_t word, const lock_thread_t *self) {
    if (LOCK_LIKELY((word & ASYM_OWNER) == self->tid_field))
        return (word & ASYM_STATUS) != 0;
    return (word & ASYM_OTHER) == ASYM_OWNER_TO_OTHER(self->tid_field);
}

LOCK_SLOW lock_result_t asym_spin1_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    while (!asym_spin1_try_acquire(obj, self, word)) {
        /* What keeps this thread out: `other` the owner, either field any other thread. */
        uint32_t obstacle =
            (word & ASYM_OWNER) == self->tid_field ? ASYM_OTHER : ASYM_OTHER | ASYM_STATUS;
        while ((word = load_rlx_u32(&obj->lock_word)) & obstacle)
            spin_wait(self);
    }
    return SUCCESS;
}

static inline lock_result_t asym_spin1_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!LOCK_LIKELY(!asym_spin1_is_acquired(word, self))) {
        store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) + 1);
        return SUCCESS;
    }
    if (LOCK_LIKELY(asym_spin1_try_acquire(obj, self, word)))
        return SUCCESS;
    return asym_spin1_acquire_slow(obj, self);
}

static inline lock_result_t asym_spin1_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!LOCK_LIKELY(asym_spin1_is_acquired(word, self)))
        return ILLEGAL_STATE;
    uint32_t recursions = load_rlx_u32(&obj->flag);
    if (!LOCK_LIKELY(recursions == 0))
        store_rlx_u32(&obj->flag, recursions - 1);
    else if (LOCK_LIKELY((word & ASYM_OWNER) == self->tid_field))
        /* the owner's byte: held -> free */
        store_rel_u8((volatile uint8_t *)&obj->lock_word, 0);
    else
        store_rel_u16((volatile uint16_t *)&obj->lock_word + 1,
                      (uint16_t)((word & ~ASYM_OTHER) >> 16));
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(asym_spin1)

static inline bool asym_spin1_is_idle(lock_object_t *obj) {
    return (obj->lock_word & (ASYM_STATUS | ASYM_OTHER)) == 0 && obj->flag == 0;
}

#endif
