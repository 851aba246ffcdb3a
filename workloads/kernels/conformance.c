/*
 * conformance: what every lock promises, whatever it costs. No measurement.
 *
 * Each iteration takes new objects and goes through, with barriers between:
 *   nesting    thread 0 acquires 300 deep; meanwhile others, and later itself, may not release,
 *              wait or notify
 *   waiting    all others wait, at different depths; thread 0 notifies one at a time, then waits
 *              are ended by notify_all (locks with wait only)
 *   storm      all threads acquire two objects, each first acquired by one of them, at depths up to
 *              300, with delays: inflation, deflation, cancellation
 * A lost wake-up shows as a run that does not end.
 */
#include "runtime/guarded.h"

enum { ITERATIONS };
enum { ITERATIONS_MAX = 256, DEEP = 300, STORM_TURNS = 60 };

typedef struct {
    guarded_t nested, mailbox, storm[2];
} objects_t;

static objects_t objects[ITERATIONS_MAX];
/* Of the waiting part, guarded by the mailbox's lock. */
static struct {
    uint32_t waiting, tokens, taken, generation;
} __attribute__((aligned(LOCK_LINE))) mail;
static volatile uint32_t storm_sections[2]; /* of this iteration, by fetch-and-add */
static const char *volatile failure;        /* the first that was found */

static runtime_key_t keys[] = {
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = ITERATIONS_MAX}, RUNTIME_KEYS_END};

static void expect(bool condition, const char *what) {
    if (!condition && !failure)
        failure = what;
}

static const char *setup(void) {
    for (uint64_t i = 0; i < keys[ITERATIONS].value; i++) {
        guarded_t *all = &objects[i].nested;
        for (unsigned k = 0; k < sizeof(objects_t) / sizeof(guarded_t); k++) {
            lock_object_init(&all[k].lock);
            all[k].lock.lock_word |= 0xa5 & LOCK_MEMBER(_misc_mask);
        }
    }
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static void acquire_deep(lock_object_t *lock, lock_thread_t *self, unsigned depth) {
    for (unsigned i = 0; i < depth; i++)
        expect(lock_acquire(lock, self) == SUCCESS, "an acquire did not succeed");
}

static void release_deep(lock_object_t *lock, lock_thread_t *self, unsigned depth) {
    for (unsigned i = 0; i < depth; i++)
        expect(lock_release(lock, self) == SUCCESS, "a release by the holder did not succeed");
}

static void expect_illegal(lock_object_t *lock, lock_thread_t *self) {
    expect(lock_release(lock, self) == ILLEGAL_STATE, "a release by a non-holder succeeded");
    expect(lock_wait(lock, self) == ILLEGAL_STATE, "a wait by a non-holder succeeded");
    expect(lock_notify(lock, self) == ILLEGAL_STATE, "a notify by a non-holder succeeded");
    expect(lock_notify_all(lock, self) == ILLEGAL_STATE, "a notify_all by a non-holder succeeded");
}

static void nesting(objects_t *o, lock_thread_t *self) {
    lock_object_t *lock = &o->nested.lock;
    lock_result_t notified = LOCK_IS_JAVA ? SUCCESS : ILLEGAL_STATE;
    if (runtime_index(self) == 0) {
        expect_illegal(lock, self);
        for (unsigned depth = 1; depth <= DEEP; depth += depth < 16 ? 1 : DEEP - 16) {
            acquire_deep(lock, self, depth);
            expect(lock_notify(lock, self) == notified, "a notify by the holder went wrong");
            expect(lock_notify_all(lock, self) == notified,
                   "a notify_all by the holder went wrong");
            release_deep(lock, self, depth);
            expect_illegal(lock, self);
        }
        acquire_deep(lock, self, 2);
    }
    runtime_barrier(self);
    if (runtime_index(self) != 0)
        expect_illegal(lock, self);
    runtime_barrier(self);
    if (runtime_index(self) == 0)
        release_deep(lock, self, 2);
}

/* What a waiting thread does: takes one token, then waits for the next generation. */
static void waiter(lock_object_t *lock, lock_thread_t *self) {
    unsigned depth = 1 + runtime_index(self) % 3;
    acquire_deep(lock, self, depth);
    uint32_t generation = mail.generation;
    mail.waiting++;
    while (mail.tokens == 0)
        expect(lock_wait(lock, self) == SUCCESS, "a wait by the holder did not succeed");
    mail.tokens--;
    mail.taken++;
    while (mail.generation == generation)
        expect(lock_wait(lock, self) == SUCCESS, "a wait by the holder did not succeed");
    release_deep(lock, self, depth);
    expect_illegal(lock, self);
}

/* Waits, by acquiring the lock again and again, until *value is `wanted`. */
static void until(lock_object_t *lock, lock_thread_t *self, uint32_t *value, uint32_t wanted) {
    for (bool reached = false; !reached;) {
        lock_acquire(lock, self);
        reached = *value == wanted;
        lock_release(lock, self);
        lock_safepoint(self);
        runtime_delay(100);
    }
}

static void waiting(objects_t *o, lock_thread_t *self) {
    lock_object_t *lock = &o->mailbox.lock;
    if (runtime_index(self) != 0) {
        waiter(lock, self);
        return;
    }
    uint32_t others = runtime_threads - 1;
    until(lock, self, &mail.waiting, others);
    for (uint32_t i = 1; i <= others; i++) {
        acquire_deep(lock, self, 1);
        mail.tokens++;
        expect(lock_notify(lock, self) == SUCCESS, "a notify by the holder did not succeed");
        release_deep(lock, self, 1);
        /* A notification wakes a thread that waits for a token, or one that has had its own and
         * passes it on by waiting again; so the rest are woken too. */
        acquire_deep(lock, self, 1);
        expect(lock_notify_all(lock, self) == SUCCESS, "a notify_all did not succeed");
        release_deep(lock, self, 1);
        until(lock, self, &mail.taken, i);
    }
    acquire_deep(lock, self, 1);
    mail.generation++;
    mail.waiting = mail.taken = 0;
    expect(lock_notify_all(lock, self) == SUCCESS, "a notify_all did not succeed");
    release_deep(lock, self, 1);
}

static void storm(objects_t *o, lock_thread_t *self, uint64_t *random) {
    for (unsigned k = 0; k < 2; k++) {
        if (runtime_index(self) == k % runtime_threads) /* the first acquirer, alone */
            expect(guarded_sync(&o->storm[k], self, 0) == SUCCESS, "a section did not succeed");
    }
    runtime_barrier(self);
    for (unsigned i = 0; i < STORM_TURNS; i++) {
        *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
        unsigned k = *random & 1;
        unsigned depth = (*random >> 8) % 64 == 0 ? DEEP : 1 + (*random >> 16) % 3;
        acquire_deep(&o->storm[k].lock, self, depth);
        guarded_section(&o->storm[k], self, (*random >> 24) % 64);
        if (LOCK_IS_JAVA && (*random >> 32) % 4 == 0)
            expect(lock_notify(&o->storm[k].lock, self) == SUCCESS, "a notify did not succeed");
        release_deep(&o->storm[k].lock, self, depth);
        fetch_add_acq_rel_u32(&storm_sections[k], 1);
        lock_safepoint(self);
        runtime_delay((*random >> 40) % 256);
    }
}

static void check(objects_t *o) {
    guarded_t *all = &o->nested;
    for (unsigned k = 0; k < sizeof(objects_t) / sizeof(guarded_t); k++) {
        expect(lock_is_idle(&all[k].lock), "a lock is not idle at the end");
        expect((all[k].lock.lock_word & LOCK_MEMBER(_misc_mask)) ==
                   (0xa5 & LOCK_MEMBER(_misc_mask)),
               "misc bits of a lock word were changed");
    }
    for (unsigned k = 0; k < 2; k++) {
        const char *error = guarded_verify(&o->storm[k], storm_sections[k] + 1);
        expect(!error, error);
        storm_sections[k] = 0;
    }
}

static uint64_t run(lock_thread_t *self) {
    uint64_t iterations = keys[ITERATIONS].value;
    uint64_t random = runtime_seed * 0x9e3779b97f4a7c15u + self->tid;
    for (uint64_t i = 0; i < iterations; i++) {
        nesting(&objects[i], self);
        if (LOCK_IS_JAVA)
            waiting(&objects[i], self);
        runtime_barrier(self);
        storm(&objects[i], self, &random);
        runtime_barrier(self);
        if (runtime_index(self) == 0)
            check(&objects[i]);
        runtime_barrier(self);
    }
    return iterations;
}

static const char *verify(uint64_t pairs) {
    if (failure)
        return failure;
    return pairs == keys[ITERATIONS].value * runtime_threads ? 0 : "an iteration was left out";
}

const workload_t workload = {"conformance", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
