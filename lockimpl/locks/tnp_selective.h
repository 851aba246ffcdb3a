/*
 * tnp_selective: temporally non-preemption by SSJIT of Odaira and Hiraki (slides Methodology, TNP
 * by SSJIT): only where run-time statistics find a lock contended.
 *
 * The source's lock manager counts for each place in the program, "record_stats(meth, bpc)". Beyond
 * a threshold the compiler translates the method again, and from then on the place forbids the end
 * of the time slice before its acquisition and permits it behind the release. Here every
 * lock_acquire in the program's text is such a site (lock.h: LOCK_ACQUIRE_AT), with a word of its
 * own: how often a thread that came from there had to park. Below TNP_THRESHOLD the site executes
 * the renouncement lock (queued_core.h), from then on the code of tnp.h. Both are inlined there,
 * and the word chooses: a compare and a branch that the source, which replaces code, does not have.
 *
 * The source's compiler finds the release that belongs to an acquisition. Here the flag word says
 * whether the outermost acquisition has forbidden switches; then the release permits them.
 *
 * Where the source is silent: the threshold, and that the choice is never reversed.
 */
#ifndef LOCKCROSS_TNP_SELECTIVE_H
#define LOCKCROSS_TNP_SELECTIVE_H

#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "types.h"

#define TNP_THRESHOLD SMALL_IN_MODEL(4, 1)

/* Threads count without an order between them: a count that is lost is none that matters. */
typedef struct {
    volatile uint32_t parked;
} tnp_selective_site_t;

/* By thread: the site from where it is acquiring; none while it comes back from a wait. */
typedef struct {
    tnp_selective_site_t *site;
} __attribute__((aligned(LOCK_LINE))) tnp_selective_from_t;
extern tnp_selective_from_t tnp_selective_from[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
tnp_selective_from_t tnp_selective_from[LOCK_MAX_THREADS];
#endif

static inline void tnp_selective_count(const lock_thread_t *self) {
    tnp_selective_site_t *site = tnp_selective_from[self->tid - 1].site;
    if (site)
        store_rlx_u32(&site->parked, load_rlx_u32(&site->parked) + 1);
}

#define QUEUED_ON_PARK(self) tnp_selective_count(self)
#include "parts/queued_core.h"

LOCK_SLOW lock_result_t tnp_selective_base_slow(lock_object_t *obj, lock_thread_t *self,
                                                tnp_selective_site_t *site) {
    tnp_selective_from[self->tid - 1].site = site;
    queued_acquire_slow(obj, self);
    tnp_selective_from[self->tid - 1].site = 0;
    return SUCCESS;
}

/* The thread has forbidden switches. A nested acquisition leaves that to the outermost one. */
LOCK_SLOW lock_result_t tnp_selective_tnp_slow(lock_object_t *obj, lock_thread_t *self,
                                               tnp_selective_site_t *site) {
    if (queued_is_mine(load_rlx_u32(&obj->lock_word), self)) {
        processor_permit_switch(self);
        return queued_acquire_slow(obj, self);
    }
    tnp_selective_base_slow(obj, self, site);
    store_rlx_u32(&obj->flag, QUEUED_FORBIDDEN);
    return SUCCESS;
}

static inline lock_result_t tnp_selective_acquire_at(lock_object_t *obj, lock_thread_t *self,
                                                     tnp_selective_site_t *site) {
    if (load_rlx_u32(&site->parked) >= TNP_THRESHOLD) {
        processor_forbid_switch(self);
        if (!LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == 0) ||
            !LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid)))
            return tnp_selective_tnp_slow(obj, self, site);
        store_rlx_u32(&obj->flag, QUEUED_FORBIDDEN);
        return SUCCESS;
    }
    if (LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == 0) &&
        LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid)))
        return SUCCESS;
    return tnp_selective_base_slow(obj, self, site);
}
#define LOCK_SITE tnp_selective_site_t
#define LOCK_ACQUIRE_AT(obj, self, site) tnp_selective_acquire_at(obj, self, site)

static inline lock_result_t tnp_selective_release(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == self->tid))
        return queued_release_slow(obj, self);
    uint32_t flag = load_rlx_u32(&obj->flag);
    if (flag == 0) {
        if (LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, self->tid, 0)))
            return SUCCESS;
    } else if (LOCK_LIKELY(flag == QUEUED_FORBIDDEN)) {
        store_rlx_u32(&obj->flag, 0);
        if (!LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, self->tid, 0)))
            queued_release_marked(obj);
        processor_permit_switch(self);
        return SUCCESS;
    }
    return queued_release_slow(obj, self);
}

QUEUED_JAVA(tnp_selective)

#endif
