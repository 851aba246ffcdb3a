/*
 * Handshake: how one thread keeps another out of its unsafe regions (Kawachiya 2005, 5.3.2; here
 * by safepoints instead of thread_suspend and thread contexts, see 5.4.4).
 *
 * A thread is RUNNING, or it is SAFE: parked, in a barrier, waiting for a handshake, not started or
 * finished (the last is ENDED where stops take time, which depends on the state). It changes only
 * its own state. A requester sets `request` and waits until the thread is SAFE; a thread leaves
 * SAFE only while there is no request. Both sides store first and load second, in that order
 * (Dekker): the requester `request`, then `state`; the thread `state`, then `request`. So they
 * cannot both continue. Unsafe regions contain no safepoint, so a SAFE thread is in none of them.
 *
 * That order takes full fences or, with fence kind membarrier, a process-wide barrier of the
 * requester: then a thread that becomes RUNNING has no fence.
 *
 * A requester is SAFE itself until it resumes the other thread, so two threads that stop each other
 * both succeed. Between stop and resume it must therefore do nothing that relies on being RUNNING:
 * no fast path of its own reserved locks.
 */
#ifndef LOCKCROSS_HANDSHAKE_H
#define LOCKCROSS_HANDSHAKE_H

#include <stdint.h>

#include "arch/arch.h"
#include "types.h"

enum { HANDSHAKE_RUNNING = 0, HANDSHAKE_SAFE = 1 };

#if !defined(LOCKCROSS_MODEL)
#define HANDSHAKE_IS_RUNNING(state) ((state) == HANDSHAKE_RUNNING)
#define HANDSHAKE_CHARGE(state) handshake_charge(state)

/* SAFE for good: the thread has ended, says the runtime. Costs alone tell it from SAFE. */
enum { HANDSHAKE_ENDED = 2 };

/* What a runtime takes to stop a thread in this state, beside the handshake itself. */
static inline void handshake_charge(uint32_t state) {
    if (state == HANDSHAKE_RUNNING)
        charge(CHARGE_STOP);
    else if (state == HANDSHAKE_SAFE)
        charge(CHARGE_STOP_BLOCKED);
    else
        charge(CHARGE_STOP_ENDED);
}
#else
/* Nothing costs time there, and the word for stops is that of the stored proofs. */
#define HANDSHAKE_IS_RUNNING(state) state != HANDSHAKE_SAFE
#define HANDSHAKE_CHARGE(state) charge(CHARGE_STOP)
#endif

/* From now on other threads may act on locks reserved for `self`. */
static inline void handshake_enter_safe(lock_thread_t *self) {
    store_rel_u32(&self->state, HANDSHAKE_SAFE);
}

/* Back to RUNNING; waits while another thread has stopped this one. */
static inline void handshake_leave_safe(lock_thread_t *self) {
#if !FENCE_IS_ASYMMETRIC
    while (store_then_load_acq_u32(&self->state, HANDSHAKE_RUNNING, &self->request)) {
#else
    while (store_u32_then_load_other_acq_u32(&self->state, HANDSHAKE_RUNNING, &self->request)) {
#endif
        store_rel_u32(&self->state, HANDSHAKE_SAFE);
        while (load_acq_u32(&self->request))
            cpu_relax();
    }
}

LOCK_SLOW void handshake_answer(lock_thread_t *self) {
    handshake_enter_safe(self);
    handshake_leave_safe(self);
}

/* A safepoint. */
static inline void handshake_poll(lock_thread_t *self) {
    if (!LOCK_LIKELY(load_rlx_u32(&self->request) == 0))
        handshake_answer(self);
}

/* Waits until `other`, which is not `self`, is SAFE, and keeps it SAFE until handshake_resume. */
static inline void handshake_stop(lock_thread_t *self, lock_thread_t *other) {
    handshake_enter_safe(self);
    while (!cas_acq_u32(&other->requester, 0, self->tid)) {
        while (load_rlx_u32(&other->requester) != 0)
            cpu_relax();
    }
    HANDSHAKE_CHARGE(load_rlx_u32(&other->state));
#if !FENCE_IS_ASYMMETRIC
    store_then_fence_u32(&other->request, 1);
#else
    store_rlx_u32(&other->request, 1);
    process_barrier();
#endif
    while (HANDSHAKE_IS_RUNNING(load_acq_u32(&other->state)))
        cpu_relax();
}

/* Ends what handshake_stop began. */
static inline void handshake_resume(lock_thread_t *self, lock_thread_t *other) {
    store_rel_u32(&other->request, 0);
    store_rel_u32(&other->requester, 0);
    handshake_leave_safe(self);
}

#endif
