/*
 * The parts of the conformance kernel in which threads meet at chosen moments, where a lock changes
 * its state. Each meeting has an object of its own, so that it finds the lock in its first state.
 *   overflow   one thread acquires DEEP times; the others come at the depths where the nest counts
 *              of the locks are full
 *   handoff    one thread acquires while another releases, and waits at once: nothing but the
 *              notification ends that wait (only locks with wait)
 *   owners     one thread owns objects, each by its first acquisition, and acquires each again and
 *              again without a safepoint, while the others come: cancellations and migrations meet
 *              the owner anywhere in its fast path
 *   pairs      all threads hold two of several objects at once, and may not release a third
 */
#ifndef KERNELS_CONFORMANCE_MEETINGS_H
#define KERNELS_CONFORMANCE_MEETINGS_H

#include <stdint.h>

#include "arch/arch.h"
#include "kernels/conformance_checks.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/processor.h"
#include "registry.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"
#include "safepoint.h"
#include "section.h"

enum { OVERFLOWS = 5, HANDOFFS = 12, OWNED = 16, OWNER_TURNS = 24, PAIRS = 10, PAIR_TURNS = 24 };

typedef struct {
    guarded_t overflow[OVERFLOWS], handoff[HANDOFFS], owned[OWNED], pairs[PAIRS];
} meetings_t;

/* How far the thread has come that the others meet. */
static struct {
    volatile uint32_t number;
} __attribute__((aligned(LOCK_LINE))) moment;

/* Safe for handshakes meanwhile. */
static void await_moment(lock_thread_t *self, uint32_t number) {
    handshake_enter_safe(self);
    while (load_acq_u32(&moment.number) < number)
        spin_wait(self);
    handshake_leave_safe(self);
}

/* The sections of each object, counted beside its lock. */
static volatile uint32_t meeting_sections[sizeof(meetings_t) / sizeof(guarded_t)];

static void count_sections(meetings_t *m, guarded_t *object, uint32_t sections) {
    fetch_add_acq_rel_u32(&meeting_sections[object - &m->overflow[0]], sections);
}

static void meet(meetings_t *m, guarded_t *object, lock_thread_t *self, uint64_t turns) {
    expect(guarded_sync(object, self, turns) == SUCCESS, "a section went wrong");
    count_sections(m, object, 1);
}

/* Overflow ----------------------------------------------------------------------------------- */

static void climb(meetings_t *m, guarded_t *object, lock_thread_t *self) {
    for (unsigned depth = 1; depth <= DEEP; depth++) {
        expect(lock_acquire(&object->lock, self) == SUCCESS, "an acquire did not succeed");
        store_rel_u32(&moment.number, depth);
    }
    guarded_section(object, self, 0);
    count_sections(m, object, 1);
    release_deep(object, self, DEEP);
    expect_illegal(object, self);
}

/* The others come one or two acquisitions before a count is full. */
static void overflow(meetings_t *m, unsigned number, lock_thread_t *self, uint64_t *random) {
    static const uint32_t fulls[OVERFLOWS] = {8, 64, 127, 255, 256};
    guarded_t *object = &m->overflow[number];
    if (runtime_index(self) == number % runtime_threads)
        climb(m, object, self);
    else {
        await_moment(self, fulls[number] - 2 - draw(random) % 2);
        runtime_delay(draw(random) % 64);
        meet(m, object, self, draw(random) % 64);
    }
}

/* Pairs -------------------------------------------------------------------------------------- */

/* Two of the objects, always in the same order, so that there is no deadlock. The inner one is
 * released first: some locks are of blocks that nest. */
static void hold_pair(meetings_t *m, lock_thread_t *self, uint64_t *random) {
    unsigned lower = draw(random) % (PAIRS - 1);
    unsigned upper = lower + 1 + draw(random) % (PAIRS - 1 - lower);
    unsigned depth = 1 + draw(random) % 3;
    guarded_t *outer = &m->pairs[lower], *inner = &m->pairs[upper];
    expect(lock_acquire_failsafe(&outer->lock, self) == SUCCESS, "an acquire did not succeed");
    guarded_section(outer, self, draw(random) % 16);
    acquire_deep(inner, self, depth);
    guarded_section(inner, self, draw(random) % 16);
    for (unsigned k = 0; k < PAIRS; k++) {
        if (k != lower && k != upper)
            expect_no_release(&m->pairs[k], self);
    }
    release_deep(inner, self, depth);
    expect_no_release(inner, self);
    guarded_section(outer, self, 0);
    expect(lock_release_failsafe(&outer->lock, self) == SUCCESS,
           "a release by the holder did not succeed");
    count_sections(m, inner, 1);
    count_sections(m, outer, 2);
}

static void hold_pairs(meetings_t *m, lock_thread_t *self, uint64_t *random) {
    for (unsigned i = 0; i < PAIR_TURNS; i++) {
        hold_pair(m, self, random);
        lock_safepoint(self);
        runtime_delay(draw(random) % 128);
    }
}

/* Handoff ------------------------------------------------------------------------------------ */

static uint32_t handed, permitted; /* guarded by the lock of the handoff */

/* Its first section ends about when the other thread, which then waits, wants the lock. Meanwhile
 * it uses other objects, which take what they can get where monitors are few. */
static void give(meetings_t *m, guarded_t *object, lock_thread_t *self, uint64_t *random) {
    acquire_deep(object, self, 1);
    store_rel_u32(&moment.number, 1);
    runtime_delay(64 + draw(random) % 256);
    release_deep(object, self, 1);
    until(object, self, &handed, 1);
    for (unsigned i = 0; i < 3; i++)
        hold_pair(m, self, random);
    acquire_deep(object, self, 1);
    permitted = 1;
    notify(object, self);
    release_deep(object, self, 1);
}

static void take(guarded_t *object, lock_thread_t *self, uint64_t *random) {
    await_moment(self, 1);
    runtime_delay(draw(random) % 64);
    acquire_deep(object, self, 1);
    handed = 1;
    wait(object, self);
    expect(permitted == 1, "a wait ended without a notification");
    handed = permitted = 0;
    release_deep(object, self, 1);
}

static void handoff(meetings_t *m, unsigned number, lock_thread_t *self, uint64_t *random) {
    guarded_t *object = &m->handoff[number];
    unsigned giver = number % runtime_threads, taker = (number + 1) % runtime_threads;
    if (giver == taker)
        return;
    if (runtime_index(self) == giver)
        give(m, object, self, random);
    else if (runtime_index(self) == taker)
        take(object, self, random);
    else {
        await_moment(self, 1);
        runtime_delay(draw(random) % 512);
        meet(m, object, self, draw(random) % 64);
    }
}

/* Owners ------------------------------------------------------------------------------------- */

/* One turn of the owner, who is in its fast path most of the time. */
static void own_once(guarded_t *object, lock_thread_t *self, uint64_t drawn) {
    unsigned depth = 1 + drawn % 4;
    acquire_deep(object, self, depth);
    guarded_section(object, self, drawn / 4 % 4);
    release_deep(object, self, depth);
}

static void own_all(meetings_t *m, lock_thread_t *self, uint64_t *random) {
    for (unsigned k = 0; k < OWNED; k++)
        meet(m, &m->owned[k], self, 0);
    for (unsigned k = 0; k < OWNED; k++) {
        store_rel_u32(&moment.number, k + 1);
        for (unsigned i = 0; i < OWNER_TURNS; i++)
            own_once(&m->owned[k], self, draw(random));
        count_sections(m, &m->owned[k], OWNER_TURNS);
        if (draw(random) % 4 != 0)
            lock_safepoint(self);
    }
}

static void owners(meetings_t *m, unsigned owner, lock_thread_t *self, uint64_t *random) {
    if (runtime_index(self) == owner) {
        own_all(m, self, random);
        return;
    }
    for (unsigned k = 0; k < OWNED; k++) {
        await_moment(self, k + 1);
        runtime_delay(draw(random) % 128);
        meet(m, &m->owned[k], self, draw(random) % 256); /* long enough for the owner to park */
        lock_safepoint(self);
    }
}

/* All ---------------------------------------------------------------------------------------- */

/* The next meeting begins when all threads are there. */
static void gather(lock_thread_t *self) {
    runtime_barrier(self);
    if (runtime_index(self) == 0)
        store_rlx_u32(&moment.number, 0);
    runtime_barrier(self);
}

static void meetings(meetings_t *m, unsigned owner, lock_thread_t *self, uint64_t *random) {
    for (unsigned k = 0; k < OVERFLOWS; k++) {
        gather(self);
        overflow(m, k, self, random);
    }
    for (unsigned k = 0; LOCK_IS_JAVA && k < HANDOFFS; k++) {
        gather(self);
        handoff(m, k, self, random);
    }
    gather(self);
    owners(m, owner, self, random);
    gather(self);
    hold_pairs(m, self, random);
    runtime_barrier(self);
}

/* By one thread, after all have met. */
static void check_meetings(meetings_t *m) {
    guarded_t *all = &m->overflow[0];
    for (unsigned k = 0; k < sizeof *m / sizeof *all; k++) {
        const char *error = guarded_verify(&all[k], meeting_sections[k]);
        expect(!error, error);
        meeting_sections[k] = 0;
    }
}

#endif
