/*
 * null: no synchronization at all, the "speed of light" (NOP) of Bacon et al. 1998, Figure 6.
 *
 * Acquire and release do nothing and always succeed; there is no wait. It is the floor of every
 * measurement, and the self-checks of the workloads must catch it.
 *
 *    31                              0
 *   +---------------------------------+
 *   |             unused              |
 *   +---------------------------------+
 */
#ifndef LOCKCROSS_NULL_H
#define LOCKCROSS_NULL_H

#include <stdbool.h>

#include "arch/arch.h"
#include "parts/without_wait.h"
#include "types.h"

enum { null_initial_word = 0, null_tid_shift = 0, null_misc_mask = 0 };

static inline lock_result_t null_acquire(lock_object_t *obj, lock_thread_t *self) {
    (void)obj, (void)self;
    order_compiler(); /* the section's accesses stay inside it, as with every lock */
    return SUCCESS;
}

static inline lock_result_t null_release(lock_object_t *obj, lock_thread_t *self) {
    (void)obj, (void)self;
    order_compiler();
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(null)

static inline bool null_is_idle(lock_object_t *obj) {
    return obj->lock_word == null_initial_word && obj->flag == 0;
}

#endif
