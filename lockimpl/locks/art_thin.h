/*
 * art_thin: the thin lock of Android's runtime (ART), read in LineageOS/android_art:
 * runtime/lock_word.h and runtime/monitor.cc.
 *
 * A CAS acquires it and a CAS releases it, nested acquisitions too: the word has two bits of the
 * garbage collector (misc), which may change at any moment. A contender looks at the word 100 times
 * (from Android 12 on), then yields its processor up to 50 times and looks again each time. Then it
 * suspends the holder, makes the word refer to a monitor that the holder is in as often as it held
 * the lock, lets the holder go on, and enters the monitor. A full count and a wait inflate the lock
 * too; by its holder, which suspends nobody.
 *
 *    31 30 29  28 27                     16 15             0
 *   +-----+------+-------------------------+----------------+
 *   | 00  | misc | count = acquisitions - 1| tid, or 0: free|   thin
 *   | 01  | misc | monitor index (28 bits)                  |   fat
 *   +-----+------+------------------------------------------+
 *
 * The default is ART with read barriers (kUseReadBarrier). Variant `without_read_barriers` is ART
 * without them, as where its collector is the one that compacts with userfaultfd (CMC): it stores
 * plainly where the other has a CAS, but for the outermost acquisition. From the load of the word
 * to that store the holder has no safepoint, and only its suspension keeps it from overwriting what
 * the contender has written. With read barriers one of two CAS fails.
 *
 * Choices: the handshake suspends the holder (monitor/handshake.h), at a safepoint, as in ART, and
 * orders what the contender has written for it; ART inflates by a release and reads the word with
 * acquire as well. The suspend monitor of the object takes the place of ART's; contenders that
 * inflate at once share it, under its latch, where each has one of its own in ART and only one
 * installs it. On AArch64 ART has exclusives in place of single instructions (no cycle on any
 * machine here). Left out: hash codes in the word; deflation, which only the garbage collector
 * does; and the five short waits of a thread that finds a fat lock held, which parks at once here.
 */
#ifndef LOCKCROSS_ART_THIN_H
#define LOCKCROSS_ART_THIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/processor.h"
#include "types.h"

#define ART_FAT 0x40000000u
#define ART_MISC 0x30000000u
#define ART_COUNT_ONE 0x00010000u
#define ART_COUNT_MOST SMALL_IN_MODEL(4095u, 7u)
#define ART_TID 0x0000ffffu
#define ART_INDEX 0x0fffffffu
/* Of a contender before it inflates the lock: looks at the word, and then yields. */
#define ART_LOOKS SMALL_IN_MODEL(100u, 0u)
#define ART_YIELDS SMALL_IN_MODEL(50u, 0u)
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & ART_FAT) != 0)

enum { art_thin_initial_word = 0, art_thin_tid_shift = 0, art_thin_misc_mask = ART_MISC };

/* Of a thin word: acquisitions - 1. */
static inline uint32_t art_count(uint32_t word) { return (word & ART_INDEX) / ART_COUNT_ONE; }

/* What the diagram allows. */
static inline bool art_word_is_valid(uint32_t word) {
    if (word & ART_FAT)
        return !(word & 0x80000000u) && (word & ART_INDEX) - 1 < MONITOR_POOL_SIZE;
    return (word & ~ART_MISC) == 0 ||
           ((word & ART_TID) - 1 < LOCK_MAX_THREADS && art_count(word) <= ART_COUNT_MOST);
}
#define LOCK_WORD_IS_VALID(word) art_word_is_valid(word)

/* Whether the word says: thin, and held by `thread`. */
static inline bool art_is_held_by(uint32_t word, const lock_thread_t *thread) {
    return (word & (ART_FAT | ART_TID)) == thread->tid;
}

static inline monitor_t *art_monitor(uint32_t word) { return monitor_at(word & ART_INDEX); }

/* Makes a lock that `holder` holds thin fat, unless that has changed, or the misc bits just do.
 * `holder` is this thread or suspended. */
LOCK_SLOW void art_inflate(lock_object_t *obj, const lock_thread_t *holder) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (art_is_held_by(word, holder)) {
        store_rlx_u32(&monitor->holder, holder->tid);
        monitor->recursion = art_count(word) + 1;
        cas_rlx_u32(&obj->lock_word, word, ART_FAT | (word & ART_MISC) | monitor->index);
    }
    latch_release(&monitor->latch);
}

/* The same for another thread, which holds the lock as `word` says. */
LOCK_SLOW void art_inflate_for(lock_object_t *obj, lock_thread_t *self, uint32_t word) {
    lock_thread_t *holder = &lock_threads[(word & ART_TID) - 1];
    handshake_stop(self, holder);
    art_inflate(obj, holder);
    handshake_resume(self, holder);
}

/* By the thread that holds the lock as `word` says, without an order. False: the word has changed.
 */
static inline bool art_change(lock_object_t *obj, uint32_t word, uint32_t changed) {
#if LOCKCROSS_VARIANT_WITHOUT_READ_BARRIERS
    (void)word; /* only this thread changes it, or one that has stopped it */
    store_rlx_u32(&obj->lock_word, changed);
    return true;
#else
    return cas_rlx_u32(&obj->lock_word, word, changed);
#endif
}

/* Acquires a lock that is free, or that `self` holds thin with a count that is not full. False: it
 * is neither, or the word has changed. */
static inline bool art_try(lock_object_t *obj, const lock_thread_t *self, uint32_t word) {
    /* free -> ours; ours -> one hold more */
    if (LOCK_LIKELY((word & ~ART_MISC) == 0))
        return cas_acq_u32(&obj->lock_word, word, word | self->tid_field);
    return art_is_held_by(word, self) && art_count(word) != ART_COUNT_MOST &&
           art_change(obj, word, word + ART_COUNT_ONE);
}

LOCK_SLOW lock_result_t art_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t contended = 0;
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if (word & ART_FAT) {
            monitor_enter(art_monitor(word), self);
            return SUCCESS;
        }
        if (art_try(obj, self, word))
            return SUCCESS;
        if (art_is_held_by(word, self)) {
            if (art_count(word) == ART_COUNT_MOST)
                art_inflate(obj, self);
        } else if (word & ART_TID) {
            if (contended == ART_LOOKS + ART_YIELDS) {
                contended = 0;
                art_inflate_for(obj, self, word);
            } else if (++contended > ART_LOOKS) {
                yield_to_others(self);
            }
        }
    }
}

static inline lock_result_t art_thin_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(art_try(obj, self, load_rlx_u32(&obj->lock_word))))
        return SUCCESS;
    return art_acquire_slow(obj, self);
}

/* Undoes an acquisition of a lock that `self` holds thin. False: the word has changed. */
static inline bool art_leave(lock_object_t *obj, uint32_t word) {
    /* the last hold -> free; else one hold less */
    if (!LOCK_LIKELY(art_count(word) == 0))
        return art_change(obj, word, word - ART_COUNT_ONE);
#if LOCKCROSS_VARIANT_WITHOUT_READ_BARRIERS
    store_rel_u32(&obj->lock_word, word & ART_MISC);
    return true;
#else
    return cas_acq_rel_u32(&obj->lock_word, word, word & ART_MISC);
#endif
}

LOCK_SLOW lock_result_t art_release_slow(lock_object_t *obj, lock_thread_t *self) {
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        if (word & ART_FAT)
            return monitor_exit(art_monitor(word), self);
        if (!art_is_held_by(word, self))
            return ILLEGAL_STATE;
        if (art_leave(obj, word))
            return SUCCESS;
    }
}

static inline lock_result_t art_thin_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (LOCK_LIKELY(art_is_held_by(word, self)) && LOCK_LIKELY(art_leave(obj, word)))
        return SUCCESS;
    return art_release_slow(obj, self);
}

LOCK_SLOW lock_result_t art_thin_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word;
    while (!((word = load_rlx_u32(&obj->lock_word)) & ART_FAT)) {
        if (!art_is_held_by(word, self))
            return ILLEGAL_STATE;
        art_inflate(obj, self);
    }
    return monitor_wait(art_monitor(word), self);
}

/* Thin, nobody can be waiting for a notification. */
static inline lock_result_t art_thin_notify(lock_object_t *obj, lock_thread_t *self,
                                            uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & ART_FAT)
        return monitor_notify(art_monitor(word), self, limit);
    return art_is_held_by(word, self) ? SUCCESS : ILLEGAL_STATE;
}

static inline bool art_thin_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & ART_FAT ? monitor_is_idle(art_monitor(word)) : (word & ~ART_MISC) == 0;
}

#endif
