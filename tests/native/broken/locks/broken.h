/*
 * broken: the tasuki lock with one defect, which -DBROKEN_... names. It shows that the conformance
 * kernel can fail.
 */
#ifndef BROKEN_H
#define BROKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "locks/tasuki.h"
#include "monitor/monitor.h"
#include "parts/tasuki_core.h"
#include "parts/tasuki_spin.h"
#include "types.h"

enum { broken_initial_word = 0, broken_tid_shift = 16, broken_misc_mask = SPIN_MISC };

/* Takes a free lock without an atomic. */
#if BROKEN_EXCLUSION
static inline lock_result_t broken_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!spin_is_free(word))
        return tasuki_acquire(obj, self);
    store_rlx_u32(&obj->lock_word, word | self->tid_field);
    return SUCCESS;
}
/* Does not count acquisitions by the holder. */
#elif BROKEN_RECURSION
static inline lock_result_t broken_acquire(lock_object_t *obj, lock_thread_t *self) {
    return spin_is_acquired(obj->lock_word, self) ? SUCCESS : tasuki_acquire(obj, self);
}
/* The count wraps instead of inflating. */
#elif BROKEN_OVERFLOW
static inline lock_result_t broken_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!spin_is_acquired(word, self))
        return tasuki_acquire(obj, self);
    store_rlx_u32(&obj->lock_word, (word & ~SPIN_COUNT) | ((word + SPIN_COUNT_ONE) & SPIN_COUNT));
    return SUCCESS;
}
#else
static inline lock_result_t broken_acquire(lock_object_t *obj, lock_thread_t *self) {
    return tasuki_acquire(obj, self);
}
#endif

/* Lets any thread release. */
#if BROKEN_HOLDER
static inline lock_result_t broken_release(lock_object_t *obj, lock_thread_t *self) {
    tasuki_release(obj, self);
    return SUCCESS;
}
/* Does not test FLC: a lost wake-up. */
#elif BROKEN_WAKE_UP
static inline lock_result_t broken_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!spin_is_acquired(word, self) || spin_holds(word) > 1)
        return tasuki_release(obj, self);
    store_rel_u32(&obj->lock_word, word & SPIN_MISC);
    return SUCCESS;
}
/* Stores a whole word of its own. */
#elif BROKEN_MISC
static inline lock_result_t broken_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!spin_is_acquired(word, self))
        return tasuki_release(obj, self);
    store_rlx_u32(&obj->lock_word, word & ~SPIN_MISC);
    return core_release(obj, self, word & ~SPIN_MISC);
}
#else
static inline lock_result_t broken_release(lock_object_t *obj, lock_thread_t *self) {
    return tasuki_release(obj, self);
}
#endif

/* Lets any thread wait. */
#if BROKEN_WAITER
static inline lock_result_t broken_wait(lock_object_t *obj, lock_thread_t *self) {
    tasuki_wait(obj, self);
    return SUCCESS;
}
/* Waits for nothing. */
#elif BROKEN_PATIENCE
static inline lock_result_t broken_wait(lock_object_t *obj, lock_thread_t *self) {
    return tasuki_notify(obj, self, 1);
}
/* Holds the lock once after waiting, however often it was held. */
#elif BROKEN_DEPTH
static inline lock_result_t broken_wait(lock_object_t *obj, lock_thread_t *self) {
    lock_result_t result = tasuki_wait(obj, self);
    if (result == SUCCESS)
        core_monitor(obj->lock_word)->recursion = 1;
    return result;
}
#else
static inline lock_result_t broken_wait(lock_object_t *obj, lock_thread_t *self) {
    return tasuki_wait(obj, self);
}
#endif

static inline lock_result_t broken_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
#if BROKEN_ORDER /* ends the second wait, not the longest */
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (limit == 1 && word & SPIN_SHAPE && core_monitor(word)->waiting.head)
        queue_append(&core_monitor(word)->waiting, queue_take(&core_monitor(word)->waiting));
#elif BROKEN_NOTIFY     /* ends every wait */
    limit = LOCK_MAX_THREADS;
#elif BROKEN_NOTIFY_ALL /* ends one wait */
    limit = 1;
#endif
    return tasuki_notify(obj, self, limit);
}

static inline bool broken_is_idle(lock_object_t *obj) { return tasuki_is_idle(obj); }

#endif
