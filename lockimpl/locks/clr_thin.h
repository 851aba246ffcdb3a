/*
 * clr_thin: the thin lock of .NET 11 (Monitor, C#'s lock statement), read in dotnet/runtime:
 * src/coreclr/System.Private.CoreLib/src/System/Threading/ObjectHeader.CoreCLR.cs, where it is
 * managed code, and syncblk.h, syncblk.inl and syncblk.cpp of src/coreclr/vm/.
 *
 * A CAS acquires it and a CAS releases it, nested acquisitions too, since the header has bits of
 * others (misc) that may change at any moment. A contender looks 17 times whether the lock is free,
 * with a pause between that grows by one each time. Then it inflates the lock itself: it takes the
 * header's spin lock, so that no CAS of the holder can succeed, copies holder and count into the
 * sync block, and makes the header refer to that. Nobody is stopped: a holder whose release fails
 * finds the sync block. A full count, Wait and Pulse inflate the lock too, whoever calls them. It
 * never becomes thin again.
 *
 *    31  29 28  27  26       22 21         16 15             0
 *   +------+---+---+-----------+-------------+----------------+
 *   | misc | S | 0 | 0         | count       | tid, or 0: free|   thin; count = acquisitions - 1
 *   | misc | 0 | 1 | monitor index (27 bits)                  |   inflated
 *   +------+---+---+------------------------------------------+
 *           S = spin lock: it is being inflated
 *
 * Choices: the suspend monitor of the object takes the place of the sync block and of its managed
 * Lock, which spins by a measure of its own and lets waiting threads starve for at most 100 ms; its
 * latch that of the lock of the sync blocks' cache. The header gets the index and loses the spin
 * lock by one CAS, where the runtime has two. A pause is 8 of the processor's per step of its
 * length, since a spin here reads no clock. The runtime calibrates a step to 35 to 50 ns; these are
 * 20 to 370 ns on x86-64, and 5 ns on AArch64, so that a contender there inflates the lock some 4
 * us too soon. .NET 8 to 10 have this lock in native code, with a tid of 10 bits and another spin.
 * Left out: hash codes in the header.
 */
#ifndef LOCKCROSS_CLR_THIN_H
#define LOCKCROSS_CLR_THIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "parts/bounded_spin.h"
#include "types.h"

#define CLR_MISC 0xe0000000u
#define CLR_SPIN_LOCK 0x10000000u
#define CLR_INFLATED 0x08000000u
#define CLR_INDEX 0x07ffffffu
#define CLR_COUNT 0x003f0000u
#define CLR_COUNT_ONE 0x00010000u
#define CLR_TID 0x0000ffffu
#define CLR_THIN (CLR_SPIN_LOCK | CLR_INFLATED | CLR_TID) /* all 0: free; one tid: held thin */
#define CLR_LOOKS SMALL_IN_MODEL(17u, 1u)
#define CLR_PAUSES 8u /* in each unit of a contender's pause */
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & CLR_INFLATED) != 0)

enum { clr_thin_initial_word = 0, clr_thin_tid_shift = 0, clr_thin_misc_mask = CLR_MISC };

/* What the diagram allows. */
static inline bool clr_word_is_valid(uint32_t word) {
    if (word & CLR_INFLATED)
        return !(word & CLR_SPIN_LOCK) && (word & CLR_INDEX) - 1 < MONITOR_POOL_SIZE;
    return !(word & CLR_INDEX & ~(CLR_COUNT | CLR_TID)) && (word & CLR_TID) <= LOCK_MAX_THREADS &&
           (word & CLR_TID || !(word & CLR_COUNT));
}
#define LOCK_WORD_IS_VALID(word) clr_word_is_valid(word)

/* Whether the word says: thin, not being inflated, and held by `self`. */
static inline bool clr_is_mine(uint32_t word, const lock_thread_t *self) {
    return (word & CLR_THIN) == self->tid;
}

static inline monitor_t *clr_monitor_of(uint32_t word) { return monitor_at(word & CLR_INDEX); }

/* Takes the header's spin lock. Returns the word before. */
static inline uint32_t clr_take_spin_lock(lock_object_t *obj) {
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if (cas_rlx_u32(&obj->lock_word, word, word | CLR_SPIN_LOCK))
            return word;
    }
}

/* Makes the header refer to the monitor, in place of the spin lock and what is thin. Acquires what
 * was done under the thin lock, for who enters the monitor. */
static inline void clr_refer(lock_object_t *obj, const monitor_t *monitor) {
    uint32_t word;
    do
        word = load_rlx_u32(&obj->lock_word);
    while (
        !cas_acq_rel_u32(&obj->lock_word, word, (word & CLR_MISC) | CLR_INFLATED | monitor->index));
}

/* The monitor of the lock, which is inflated if it is thin. */
LOCK_SLOW monitor_t *clr_monitor(lock_object_t *obj) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (word & CLR_INFLATED)
        return clr_monitor_of(word);
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    if (!(load_rlx_u32(&obj->lock_word) & CLR_INFLATED)) {
        word = clr_take_spin_lock(obj);
        store_rlx_u32(&monitor->holder, word & CLR_TID);
        monitor->recursion = (word & CLR_COUNT) / CLR_COUNT_ONE + 1;
        clr_refer(obj, monitor);
    }
    latch_release(&monitor->latch);
    return monitor;
}

/* The word by which `self` acquires a thin lock that says `word`; 0: it cannot. */
static inline uint32_t clr_acquired(uint32_t word, const lock_thread_t *self) {
    if (LOCK_LIKELY((word & CLR_THIN) == 0))
        return word | self->tid_field;
    return clr_is_mine(word, self) && (word & CLR_COUNT) != CLR_COUNT ? word + CLR_COUNT_ONE : 0;
}

/* Acquires a lock while it is thin and free or held by `self`, after a short wait for another. */
static inline bool clr_spin(lock_object_t *obj, const lock_thread_t *self) {
    for (uint32_t looks = 0; looks < CLR_LOOKS;) {
        uint32_t word = load_rlx_u32(&obj->lock_word), acquired = clr_acquired(word, self);
        if (acquired) {
            if (cas_acq_u32(&obj->lock_word, word, acquired))
                return true;
        } else if (word & (CLR_SPIN_LOCK | CLR_INFLATED) || clr_is_mine(word, self)) {
            return false;
        } else {
            for (uint32_t turns = looks++ * CLR_PAUSES; turns != 0; turns--)
                bounded_spin();
        }
    }
    return false;
}

LOCK_SLOW lock_result_t clr_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    if (!clr_spin(obj, self))
        monitor_enter(clr_monitor(obj), self);
    return SUCCESS;
}

static inline lock_result_t clr_thin_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word), acquired = clr_acquired(word, self);
    if (LOCK_LIKELY(acquired != 0) && LOCK_LIKELY(cas_acq_u32(&obj->lock_word, word, acquired)))
        return SUCCESS;
    return clr_acquire_slow(obj, self);
}

/* Undoes an acquisition of a thin lock that `self` holds as `word` says. False: the word has
 * changed. */
static inline bool clr_leave(lock_object_t *obj, uint32_t word) {
    uint32_t left = word & CLR_COUNT ? word - CLR_COUNT_ONE : word & ~CLR_TID;
    return cas_acq_rel_u32(&obj->lock_word, word, left);
}

LOCK_SLOW lock_result_t clr_release_slow(lock_object_t *obj, lock_thread_t *self) {
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if (word & (CLR_SPIN_LOCK | CLR_INFLATED))
            return monitor_exit(clr_monitor(obj), self);
        if (!clr_is_mine(word, self))
            return ILLEGAL_STATE;
        if (clr_leave(obj, word))
            return SUCCESS;
    }
}

static inline lock_result_t clr_thin_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (LOCK_LIKELY(clr_is_mine(word, self)) && LOCK_LIKELY(clr_leave(obj, word)))
        return SUCCESS;
    return clr_release_slow(obj, self);
}

static inline lock_result_t clr_thin_wait(lock_object_t *obj, lock_thread_t *self) {
    return monitor_wait(clr_monitor(obj), self);
}

static inline lock_result_t clr_thin_notify(lock_object_t *obj, lock_thread_t *self,
                                            uint32_t limit) {
    return monitor_notify(clr_monitor(obj), self, limit);
}

static inline bool clr_thin_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & CLR_INFLATED ? monitor_is_idle(clr_monitor_of(word)) : (word & ~CLR_MISC) == 0;
}

#endif
