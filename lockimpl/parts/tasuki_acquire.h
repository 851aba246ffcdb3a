/*
 * The acquisition of tasuki.h and of reservation.h's base mode, inlined: a free lock by a CAS, a
 * nested acquisition by a store. tasuki_core.h has the rest.
 */
#ifndef LOCKCROSS_TASUKI_ACQUIRE_H
#define LOCKCROSS_TASUKI_ACQUIRE_H

#include <stdint.h>

#include "arch/arch.h"
#include "parts/tasuki_core.h"
#include "parts/tasuki_spin.h"
#include "types.h"

/* Acquires, given the lock word just loaded. */
static inline lock_result_t spin_or_core_acquire(lock_object_t *obj, lock_thread_t *self,
                                                 uint32_t word) {
    if (LOCK_LIKELY(spin_is_free(word))) {
        if (LOCK_LIKELY(spin_cas(obj, self, word)))
            return SUCCESS;
    } else if (spin_is_acquired(word, self) && (word & SPIN_COUNT) != SPIN_COUNT) {
        store_rlx_u32(&obj->lock_word, word + SPIN_COUNT_ONE);
        return SUCCESS;
    }
    return core_acquire_slow(obj, self);
}

#endif
