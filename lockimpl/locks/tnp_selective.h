/*
 * tnp_selective: temporally non-preemption by SSJIT of Odaira and Hiraki (slides TNP by SSJIT):
 * only for locks that run-time statistics find contended.
 *
 * The lock is the renouncement lock (queued_core.h) with a statistic: how often a thread found it
 * held and was about to park. From TNP_THRESHOLD on, the T bit stays set in its lock word, and an
 * acquisition first forbids the end of the time slice, as in tnp.h. The fast paths are those of the
 * base lock, to the instruction: they do not recognize a word with T, so TNP costs an uncontended
 * lock nothing. This takes the place of the source's compiler, which recompiles methods with
 * contended locks. The flag word says whether the current hold has forbidden switches, since a lock
 * may become contended while it is held.
 *
 *   extra[0]: the statistic, guarded by the latch of the monitor
 *
 * Where the source is silent: the threshold, and that the choice is never reversed.
 */
#ifndef LOCKCROSS_TNP_SELECTIVE_H
#define LOCKCROSS_TNP_SELECTIVE_H

#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "types.h"

#define TNP_THRESHOLD 4
#define QUEUED_CONTENDED(obj) ((obj)->extra[0]++, (obj)->extra[0] >= TNP_THRESHOLD ? QUEUED_TNP : 0)
#include "parts/queued_core.h"

LOCK_SLOW lock_result_t tnp_selective_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!(word & QUEUED_TNP) || queued_is_mine(word, self))
        return queued_acquire_slow(obj, self);
    processor_forbid_switch(self);
    queued_acquire_slow(obj, self);
    store_rlx_u32(&obj->flag, QUEUED_FORBIDDEN);
    return SUCCESS;
}

static inline lock_result_t tnp_selective_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == 0) &&
        LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid)))
        return SUCCESS;
    return tnp_selective_acquire_slow(obj, self);
}

static inline lock_result_t tnp_selective_release(lock_object_t *obj, lock_thread_t *self) {
    return queued_release(obj, self);
}

QUEUED_JAVA(tnp_selective)

#endif
