/*
 * The flat lock of tasuki.h and of reservation.h's base mode: the CAS-based spin lock of Kawachiya
 * 2005, Figure 6.2, in a 24-bit field with a nest count (Figure 4.2), with the operations that
 * tasuki_core.h needs. It keeps the misc bits, which belong to others.
 *
 * The word is laid out as in tasuki.h, unless the including header defines another layout
 * (reservation_word.h):
 *   SPIN_SHAPE, SPIN_MONITOR_SHIFT   see tasuki_core.h
 *   SPIN_COUNT, SPIN_COUNT_ONE       mask of the nest count, and its lowest bit
 *   SPIN_COUNT_FIRST                 the count, in place, of a lock held once
 * In the variant jdk116 of tasuki.h the flat lock tests the processor each time, and has no orders
 * on a uniprocessor (4.5.5 asks for them on multiprocessors alone).
 */
#ifndef LOCKCROSS_TASUKI_SPIN_H
#define LOCKCROSS_TASUKI_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "types.h"
#define SPIN_TESTS_PROCESSOR LOCKCROSS_VARIANT_JDK116
#if SPIN_TESTS_PROCESSOR
#include "monitor/multiprocessor.h"
#endif

#ifndef SPIN_SHAPE
#define SPIN_SHAPE 0x80000000u
#define SPIN_MONITOR_SHIFT 8
#define SPIN_COUNT 0x0000ff00u
#define SPIN_COUNT_ONE 0x00000100u
#define SPIN_COUNT_FIRST 0u
#endif
#define SPIN_MISC 0x000000ffu

static inline bool spin_is_acquired(uint32_t word, const lock_thread_t *self) {
    return ((word ^ self->tid_field) & ~(SPIN_COUNT | SPIN_MISC)) == 0;
}

static inline bool spin_is_free(uint32_t word) { return (word & ~SPIN_MISC) == 0; }

static inline uint32_t spin_holds(uint32_t word) {
    return ((word & SPIN_COUNT) - SPIN_COUNT_FIRST) / SPIN_COUNT_ONE + 1;
}

static inline bool spin_cas(lock_object_t *obj, lock_thread_t *self, uint32_t free_word) {
#if SPIN_TESTS_PROCESSOR
    if (!is_multiprocessor())
        return cas_rlx_u32(&obj->lock_word, free_word,
                           free_word | self->tid_field | SPIN_COUNT_FIRST);
#endif
    return cas_acq_u32(&obj->lock_word, free_word, free_word | self->tid_field | SPIN_COUNT_FIRST);
}

static inline bool spin_try_acquire(lock_object_t *obj, lock_thread_t *self) {
    return spin_cas(obj, self, load_rlx_u32(&obj->lock_word) & SPIN_MISC);
}

static inline void spin_unnest(lock_object_t *obj, uint32_t word, lock_thread_t *self) {
    (void)self;
    store_rlx_u32(&obj->lock_word, word - SPIN_COUNT_ONE);
}

static inline uint32_t spin_release_then_load_flag(lock_object_t *obj, uint32_t word,
                                                   lock_thread_t *self) {
    (void)self;
#if SPIN_TESTS_PROCESSOR
    if (!is_multiprocessor()) { /* only the compiler could move anything */
        order_compiler();
        store_rlx_u32(&obj->lock_word, word & SPIN_MISC);
        order_compiler();
        return load_rlx_u32(&obj->flag);
    }
#endif
    return store_rel_u32_then_load_next(&obj->lock_word, word & SPIN_MISC);
}

static inline void spin_inflate(lock_object_t *obj, monitor_t *monitor, lock_thread_t *self) {
    (void)self;
    uint32_t misc = load_rlx_u32(&obj->lock_word) & SPIN_MISC;
    store_rel_u32(&obj->lock_word, SPIN_SHAPE | monitor->index << SPIN_MONITOR_SHIFT | misc);
}

static inline void spin_deflate(lock_object_t *obj, monitor_t *monitor, lock_thread_t *self) {
    (void)monitor, (void)self;
    store_rel_u32(&obj->lock_word, load_rlx_u32(&obj->lock_word) & SPIN_MISC);
}

#endif
