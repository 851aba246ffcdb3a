/*
 * thin: the thin lock of Bacon et al. 1998, section 2; Kawachiya 2005, section 4.3, Figure 4.4.
 *
 * Flat, the lock is acquired by one CAS that puts the thread's identifier into a zero field, and
 * released by a store: only the holder ever changes the word. The holder counts its nested
 * acquisitions in the word. A contender spins until it can acquire the flat lock itself, then
 * inflates it: from then on the word names a suspend monitor, and the lock never deflates. A wait
 * and a full nest count inflate it too.
 *
 *    31 30           16 15        8 7        0
 *   +--+---------------+-----------+----------+
 *   |0 | tid           | count     | misc     |   flat; count = acquisitions - 1
 *   +--+---------------+-----------+----------+
 *   |1 | monitor index (23 bits)   | misc     |   inflated
 *   +--+---------------------------+----------+
 *   shape
 *
 * The order of tests is the paper's: the CAS first, then the nested case (2.3.1, 2.3.3). The lock
 * keeps the misc bits, which belong to others. Where the sources are silent: the inflation loop
 * spins on loads with cpu_relax between its attempts.
 *
 * Variants: those of Bacon, section 3.5 and Figure 6, which differ only in the flat lock. There
 * each but the first is a change of the one before it:
 *
 *   - inline     "Inline": inlined into the loop, for a uniprocessor: no orders
 *   - fn_call    "FnCall": one routine to lock and one to unlock, called
 *   - mp_sync    "MP Sync": with isync after the lock and sync at the unlock, for multiprocessors
 *   - dynamic    "ThinLock": each operation tests the processor, then does as fn_call or mp_sync
 *   - unlk_cas   "UnlkC&S": as dynamic, and unlocks by a CAS
 *
 * The default, inline_mp, is "Inline" with the acquire and release orders of each ISA; on x86-64,
 * which needs none, it is the same code. Without orders, inline and fn_call are for one processor
 * where the ISA is weakly ordered. "NOP" is the lock nop.
 *
 * Choices: sync comes before the unlocking store, where the architecture needs it; the paper says
 * after. On other ISAs than POWER the full fence takes its place, and the acquiring CAS that of
 * isync. Nested operations have no orders. The processor counts as a multiprocessor if threads
 * share two processors or more, or if there are two threads or more and each has one of its own;
 * that is known at the start. UnlkC&S unlocks by a CAS in the nested case too.
 */
#ifndef LOCKCROSS_THIN_H
#define LOCKCROSS_THIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/processor.h"
#include "types.h"

#define THIN_SHAPE 0x80000000u
#define THIN_COUNT 0x0000ff00u
#define THIN_COUNT_ONE 0x00000100u
#define THIN_MISC 0x000000ffu
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & THIN_SHAPE) != 0)

#if LOCKCROSS_VARIANT_INLINE || LOCKCROSS_VARIANT_FN_CALL
#define THIN_UNORDERED 1
#elif LOCKCROSS_VARIANT_DYNAMIC || LOCKCROSS_VARIANT_UNLK_CAS
#define THIN_TESTED 1
#endif

#if THIN_TESTED
#include "monitor/multiprocessor.h"
#endif

#if !LOCKCROSS_VARIANT_INLINE && (THIN_UNORDERED || THIN_TESTED || LOCKCROSS_VARIANT_MP_SYNC)
#define THIN_ROUTINE LOCK_SLOW /* called */
#else
#define THIN_ROUTINE static inline
#endif

enum { thin_initial_word = 0, thin_tid_shift = 16, thin_misc_mask = THIN_MISC };

static inline monitor_t *thin_monitor(uint32_t word) {
    return monitor_at((word & ~THIN_SHAPE) >> 8);
}

/* What the diagram allows: a monitor of the pool; a holder; or a free lock, which has no count. */
static inline bool thin_word_is_valid(uint32_t word) {
    if (word & THIN_SHAPE)
        return ((word & ~THIN_SHAPE) >> 8) - 1 < MONITOR_POOL_SIZE;
    return word >> 16 ? word >> 16 <= LOCK_MAX_THREADS : (word & THIN_COUNT) == 0;
}
#define LOCK_WORD_IS_VALID(word) thin_word_is_valid(word)

/* The CAS of the lock. */
static inline bool thin_cas(lock_object_t *obj, uint32_t word, uint32_t taken) {
#if THIN_UNORDERED
    return cas_rlx_u32(&obj->lock_word, word, taken);
#elif THIN_TESTED
    if (!is_multiprocessor())
        return cas_rlx_u32(&obj->lock_word, word, taken);
#endif
    /* free -> ours; what the holder before has written is visible from here on */
    return cas_acq_u32(&obj->lock_word, word, taken);
}

/* The store of an unlock on a uniprocessor, where only the compiler could move anything past it. */
static inline void thin_free_unordered(lock_object_t *obj, uint32_t freed) {
    order_compiler();
    store_rlx_u32(&obj->lock_word, freed);
}

/* The store of an unlock. Only the holder changes the word, so a CAS cannot fail. */
static inline void thin_free(lock_object_t *obj, uint32_t word, uint32_t freed) {
    (void)word;
#if THIN_UNORDERED
    thin_free_unordered(obj, freed);
#elif LOCKCROSS_VARIANT_MP_SYNC
    store_after_fence_u32(&obj->lock_word, freed);
#elif LOCKCROSS_VARIANT_DYNAMIC
    if (is_multiprocessor())
        store_after_fence_u32(&obj->lock_word, freed);
    else
        thin_free_unordered(obj, freed);
#elif LOCKCROSS_VARIANT_UNLK_CAS
    if (is_multiprocessor())
        cas_after_fence_u32(&obj->lock_word, word, freed);
    else
        cas_rlx_u32(&obj->lock_word, word, freed);
#else
    /* the section is visible before the word is free */
    store_rel_u32(&obj->lock_word, freed);
#endif
}

/* The store of a nested unlock. */
static inline void thin_unnest(lock_object_t *obj, uint32_t word) {
#if LOCKCROSS_VARIANT_UNLK_CAS
    cas_rlx_u32(&obj->lock_word, word, word - THIN_COUNT_ONE);
#else
    /* one hold less; only the holder writes the word */
    store_rlx_u32(&obj->lock_word, word - THIN_COUNT_ONE);
#endif
}

/* Whether the word says: flat, and held by `self`. */
static inline bool thin_is_mine(uint32_t word, const lock_thread_t *self) {
    return ((word ^ self->tid_field) & ~(THIN_COUNT | THIN_MISC)) == 0;
}

/* With the flat lock held by `self`: makes it a monitor, entered `holds` times. */
LOCK_SLOW monitor_t *thin_inflate(lock_object_t *obj, lock_thread_t *self, uint32_t holds) {
    monitor_t *monitor = lookup_monitor(obj);
    monitor_enter(monitor, self);
    monitor->recursion = holds;
    uint32_t misc = load_rlx_u32(&obj->lock_word) & THIN_MISC;
    store_rel_u32(&obj->lock_word, THIN_SHAPE | monitor->index << 8 | misc);
    return monitor;
}

LOCK_SLOW lock_result_t thin_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (thin_is_mine(word, self)) { /* the count is full */
        thin_inflate(obj, self, ((word & THIN_COUNT) >> 8) + 2);
        return SUCCESS;
    }
    while (!(word & THIN_SHAPE)) {
        if ((word & ~THIN_MISC) == 0 &&
            cas_acq_u32(&obj->lock_word, word, word | self->tid_field)) {
            thin_inflate(obj, self, 1);
            return SUCCESS;
        }
        spin_wait(self);
        word = load_acq_u32(&obj->lock_word);
    }
    monitor_enter(thin_monitor(word), self);
    return SUCCESS;
}

THIN_ROUTINE lock_result_t thin_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t misc = load_rlx_u32(&obj->lock_word) & THIN_MISC;
    if (LOCK_LIKELY(thin_cas(obj, misc, misc | self->tid_field)))
        return SUCCESS;
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if ((word ^ self->tid_field) < THIN_COUNT) { /* held by `self`, and the count is not full */
        /* one hold more; only the holder writes the word */
        store_rlx_u32(&obj->lock_word, word + THIN_COUNT_ONE);
        return SUCCESS;
    }
    return thin_acquire_slow(obj, self);
}

LOCK_SLOW lock_result_t thin_release_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & THIN_SHAPE ? monitor_exit(thin_monitor(word), self) : ILLEGAL_STATE;
}

THIN_ROUTINE lock_result_t thin_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    uint32_t mine = word ^ self->tid_field;
    if (LOCK_LIKELY(mine <= THIN_MISC)) {
        thin_free(obj, word, mine);
        return SUCCESS;
    }
    if (mine <= (THIN_COUNT | THIN_MISC)) {
        thin_unnest(obj, word);
        return SUCCESS;
    }
    return thin_release_slow(obj, self);
}

LOCK_SLOW lock_result_t thin_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & THIN_SHAPE)
        return monitor_wait(thin_monitor(word), self);
    if (!thin_is_mine(word, self))
        return ILLEGAL_STATE;
    return monitor_wait(thin_inflate(obj, self, ((word & THIN_COUNT) >> 8) + 1), self);
}

/* Flat, nobody can be waiting. */
static inline lock_result_t thin_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & THIN_SHAPE)
        return monitor_notify(thin_monitor(word), self, limit);
    return thin_is_mine(word, self) ? SUCCESS : ILLEGAL_STATE;
}

static inline bool thin_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & THIN_SHAPE ? monitor_is_idle(thin_monitor(word)) : (word & ~THIN_MISC) == 0;
}

#endif
