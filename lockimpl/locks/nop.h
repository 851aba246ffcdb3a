/*
 * nop: no synchronization at all, the "speed of light" (NOP) of Bacon et al. 1998, Figure 6.
 *
 * Acquire and release do nothing and always succeed; there is no wait. It is the floor of every
 * measurement, and the self-checks of the workloads must catch it.
 *
 *    31                              0
 *   +---------------------------------+
 *   |             unused              |
 *   +---------------------------------+
 */
#ifndef LOCKCROSS_NOP_H
#define LOCKCROSS_NOP_H

#include <stdbool.h>

#include "arch/arch.h"
#include "parts/without_wait.h"
#include "types.h"

enum { nop_initial_word = 0, nop_tid_shift = 0, nop_misc_mask = 0 };

static inline lock_result_t nop_acquire(lock_object_t *obj, lock_thread_t *self) {
    (void)obj, (void)self;
    order_compiler(); /* the section's accesses stay inside it, as with every lock */
    return SUCCESS;
}

static inline lock_result_t nop_release(lock_object_t *obj, lock_thread_t *self) {
    (void)obj, (void)self;
    order_compiler();
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(nop)

static inline bool nop_is_idle(lock_object_t *obj) {
    return obj->lock_word == nop_initial_word && obj->flag == 0;
}

#endif
