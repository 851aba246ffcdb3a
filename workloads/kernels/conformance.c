/*
 * conformance: what every lock promises, whatever it costs. It measures nothing.
 *
 * Each iteration takes new objects, which its threads created in turn, and goes through these
 * parts, with barriers between them:
 *   nesting    thread 0 acquires up to 300 deep; meanwhile the others may not release, wait or
 *              notify, and afterwards thread 0 may not either
 *   waiting    all others wait, one of them 300 deep, one while it holds another lock; thread 0
 *              notifies one at a time and sees the waits end in the order in which they began, then
 *              notifies all at once; a notification that nobody waits for is lost (only locks with
 *              wait)
 *   race       one thread acquires, at some depth, and waits, while all others acquire and one of
 *              them notifies: inflation and cancellation meet threads that wait
 *   storm      all threads acquire two objects, each first acquired by one of them, at depths up to
 *              300 and with delays: inflation and cancellation; a thread that holds nothing may not
 *              release
 *   calm       each thread alone, one after the other: deflation; then storm and calm again
 *   meetings   at chosen moments of the lock (conformance_meetings.h)
 * A lost wake-up shows as a run that does not end. Every other failure ends the run at once.
 */
#define WORKLOAD_conformance
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "kernels/conformance_checks.h"
#include "kernels/conformance_meetings.h"
#include "lock.h"
#include "registry.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

enum { RACES = 4, STORM_TURNS = 40 };

typedef struct {
    guarded_t nested, mailbox, outer, race[RACES], storm[2];
    meetings_t meetings;
} objects_t;
enum { OBJECTS = sizeof(objects_t) / sizeof(guarded_t) };

static objects_t objects[MAX_iterations];
/* Of the part `waiting`, guarded by the mailbox's lock. */
static struct {
    uint32_t first;  /* threads that have begun their first wait */
    uint32_t second; /* threads in their second wait */
    uint32_t permit; /* the thread whose first wait may end */
    uint32_t taken;  /* threads whose first wait has ended */
    uint32_t all;    /* 1: every second wait may end */
} __attribute__((aligned(LOCK_LINE))) mail;
static uint32_t race_over[RACES];           /* each guarded by that race's lock */
static volatile uint32_t storm_sections[2]; /* of this iteration; counted by fetch-and-add */

static const char *setup(void) {
    for (unsigned i = 0; i < KEY(iterations); i++) {
        guarded_t *all = &objects[i].nested;
        for (unsigned k = 0; k < OBJECTS; k++) {
            lock_object_init_for(&all[k].lock, &lock_threads[(i + k + 1) % runtime_threads]);
            all[k].lock.lock_word |= 0xa5 & LOCK_MEMBER(_misc_mask);
        }
    }
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Nesting ------------------------------------------------------------------------------------ */

/* Thread 0 holds the lock `depth` deep while the others try what only the holder may do. */
static void hold(guarded_t *object, lock_thread_t *self, unsigned depth) {
    bool holder = runtime_index(self) == 0;
    if (holder)
        acquire_deep(object, self, depth);
    runtime_barrier(self);
    if (!holder)
        expect_illegal(object, self);
    runtime_barrier(self);
    if (holder)
        release_deep(object, self, depth);
    runtime_barrier(self);
    expect_illegal(object, self);
    runtime_barrier(self);
}

static void nesting(guarded_t *object, lock_thread_t *self) {
    if (runtime_index(self) == 0) {
        expect_illegal(object, self);
        for (unsigned depth = 1; depth <= DEEP; depth += depth < 16 ? 1 : DEEP - 16) {
            acquire_deep(object, self, depth);
            notify(object, self);
            notify_all(object, self);
            release_deep(object, self, depth);
            expect_illegal(object, self);
        }
    }
    hold(object, self, 2);
    hold(object, self, DEEP);
    hold(object, self, 1);
}

/* Waiting ------------------------------------------------------------------------------------ */

/* Two waits. Only a notification ends each, and the thread then holds the lock as deep as before.
 */
static void waiter(objects_t *o, lock_thread_t *self) {
    unsigned number = runtime_index(self);
    unsigned depth = number == 2 || runtime_threads == 2 ? DEEP : number % 4 + 1;
    until(&o->mailbox, self, &mail.first, number - 1);
    if (number == 1)
        acquire_deep(&o->outer, self, 2);
    acquire_deep(&o->mailbox, self, depth);
    mail.first = number;
    wait(&o->mailbox, self);
    expect(mail.permit == number, "a wait ended before its turn");
    mail.taken++;
    mail.second++;
    wait(&o->mailbox, self);
    expect(mail.all == 1, "a wait ended without a notification");
    mail.second--;
    release_deep(&o->mailbox, self, depth);
    expect_illegal(&o->mailbox, self);
    if (number == 1)
        release_deep(&o->outer, self, 2);
}

static void notifier(objects_t *o, lock_thread_t *self) {
    uint32_t others = runtime_threads - 1;
    until(&o->mailbox, self, &mail.first, others);
    expect_illegal(&o->outer, self);
    for (uint32_t i = 1; i <= others; i++) {
        acquire_deep(&o->mailbox, self, 2);
        mail.permit = i;
        notify(&o->mailbox, self);
        release_deep(&o->mailbox, self, 2);
        until(&o->mailbox, self, &mail.taken, i);
    }
    until(&o->mailbox, self, &mail.second, others);
    acquire_deep(&o->mailbox, self, 1);
    mail.all = 1;
    notify_all(&o->mailbox, self);
    release_deep(&o->mailbox, self, 1);
    until(&o->mailbox, self, &mail.second, 0);
    mail.first = mail.permit = mail.taken = mail.all = 0;
}

static void waiting(objects_t *o, lock_thread_t *self) {
    if (runtime_index(self) == 0) {
        acquire_deep(&o->mailbox, self, 1);
        notify(&o->mailbox, self);
        notify_all(&o->mailbox, self);
        release_deep(&o->mailbox, self, 1);
    }
    runtime_barrier(self);
    if (runtime_index(self) == 0)
        notifier(o, self);
    else
        waiter(o, self);
}

/* Race --------------------------------------------------------------------------------------- */

static void race(objects_t *o, unsigned number, lock_thread_t *self, uint64_t *random) {
    guarded_t *object = &o->race[number];
    unsigned first = number % runtime_threads;
    bool is_first = runtime_index(self) == first;
    bool notifies = runtime_index(self) == (first + 1) % runtime_threads && !is_first;
    unsigned depth = 1 + draw(random) % 3;
    runtime_delay(draw(random) % (is_first ? 64 : 512));
    acquire_deep(object, self, depth);
    guarded_section(object, self, draw(random) % 128);
    if (notifies) {
        race_over[number] = 1;
        notify(object, self);
    }
    while (LOCK_IS_JAVA && is_first && runtime_threads > 1 && !race_over[number])
        wait(object, self);
    release_deep(object, self, depth);
    expect_illegal(object, self);
    runtime_barrier(self);
    if (is_first)
        race_over[number] = 0;
}

/* Storm and calm ----------------------------------------------------------------------------- */

/* Sections `depth` deep, one level less deep, and `depth` deep again. */
static void stairs(objects_t *o, unsigned k, lock_thread_t *self, unsigned depth, uint64_t turns) {
    guarded_t *object = &o->storm[k];
    acquire_deep(object, self, depth);
    guarded_section(object, self, turns);
    if (depth > 1) {
        release_deep(object, self, 1);
        guarded_section(object, self, turns);
        acquire_deep(object, self, 1);
        guarded_section(object, self, turns);
    }
    release_deep(object, self, depth);
    fetch_add_acq_rel_u32(&storm_sections[k], depth > 1 ? 3 : 1);
}

static void storm(objects_t *o, lock_thread_t *self, uint64_t *random) {
    for (unsigned i = 0; i < STORM_TURNS; i++) {
        unsigned k = draw(random) % 2;
        unsigned depth = draw(random) % 64 == 0 ? DEEP : 1 + draw(random) % 3;
        stairs(o, k, self, depth, draw(random) % 64);
        if (draw(random) % 8 == 0)
            expect_illegal(&o->storm[k], self);
        lock_safepoint(self);
        runtime_delay(draw(random) % 256);
    }
}

static void calm(objects_t *o, lock_thread_t *self) {
    for (unsigned i = 0; i < runtime_threads; i++) {
        runtime_barrier(self);
        for (unsigned k = 0; k < 2 && runtime_index(self) == i; k++) {
            stairs(o, k, self, 3, 0);
            stairs(o, k, self, 1, 0);
            expect_illegal(&o->storm[k], self);
        }
    }
    runtime_barrier(self);
}

static void storms(objects_t *o, lock_thread_t *self, uint64_t *random) {
    if (runtime_index(self) < 2) /* the first acquirer of each object, alone */
        stairs(o, runtime_index(self), self, 1, 0);
    runtime_barrier(self);
    storm(o, self, random);
    calm(o, self);
    storm(o, self, random);
    calm(o, self);
}

/* All ---------------------------------------------------------------------------------------- */

static void check(objects_t *o) {
    guarded_t *all = &o->nested;
    uint32_t misc = 0xa5 & LOCK_MEMBER(_misc_mask);
    for (unsigned k = 0; k < OBJECTS; k++) {
        expect(lock_is_idle(&all[k].lock), "a lock is not idle at the end");
        expect((all[k].lock.lock_word & LOCK_MEMBER(_misc_mask)) == misc,
               "misc bits of a lock word were changed");
    }
    for (unsigned k = 0; k < RACES; k++) {
        const char *error = guarded_verify(&o->race[k], runtime_threads);
        expect(!error, error);
    }
    for (unsigned k = 0; k < 2; k++) {
        const char *error = guarded_verify(&o->storm[k], storm_sections[k]);
        expect(!error, error);
        storm_sections[k] = 0;
    }
    check_meetings(&o->meetings);
}

static uint64_t run(lock_thread_t *self) {
    uint64_t iterations = KEY(iterations);
    uint64_t random = runtime_seed * 0x9e3779b97f4a7c15u + self->tid;
    for (uint64_t i = 0; i < iterations; i++) {
        objects_t *o = &objects[i];
        nesting(&o->nested, self);
        if (LOCK_IS_JAVA)
            waiting(o, self);
        for (unsigned k = 0; k < RACES; k++) {
            runtime_barrier(self);
            race(o, k, self, &random);
        }
        storms(o, self, &random);
        meetings(&o->meetings, i % runtime_threads, self, &random);
        if (runtime_index(self) == 0)
            check(o);
        runtime_barrier(self);
    }
    return iterations;
}

static const char *verify(uint64_t pairs) {
    return pairs == KEY(iterations) * runtime_threads ? 0 : "an iteration was left out";
}
