/* lock_sequence: sequences of lockers that match a given share of their owners (after Kawachiya
 * 2005, Tables 5.2, 5.6 and 6.2).
 *
 * Object i belongs to thread i mod threads, which creates it and acquires it once before the region
 * of interest. Then follow `runs` steps with a barrier between them. In step k every object is
 * acquired `run_length` times by one thread: its owner if ceil((k+1)*share) > ceil(k*share), where
 * share is `owner_share`, else another thread drawn from the seed. So step 0 is the owner's, a
 * share of a half alternates, and no two threads want the same object in one step.
 * Each section has `critical` iterations of a delay loop inside and `think` behind it. */
#define WORKLOAD_lock_sequence
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

static guarded_t objects[MAX_objects];
static lock_result_t results[LOCK_MAX_THREADS];
static turn_t creation; /* the thread that creates its objects */

static const char *setup(void) {
#include "runtime/rules.inc"
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[i % runtime_threads]);
    return 0;
}

/* One thread after another: so the monitors that a lock takes from a pool, whose places decide
 * which lines share a set of the cache, are the same in every run. */
static void prepare(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    turn_await(&creation, self, runtime_index(self));
    for (uint64_t i = runtime_index(self); i < KEY(objects); i += runtime_threads)
        result |= guarded_sync(&objects[i], self, 0);
    turn_pass(&creation, runtime_index(self) + 1);
    results[runtime_index(self)] = result;
}

/* ceil(k * share). */
static uint64_t owned_steps(uint64_t k) { return (k * KEY(owner_share) + PARTS - 1) / PARTS; }

/* 32 bits that depend on all bits of x (the finalizer of splitmix64). */
static uint64_t draw(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) >> 32;
}

/* The thread that has object `index` in step `k`, which is not its owner's. Without a division, as
 * every thread asks for every object. */
static unsigned drawn_thread(uint64_t k, uint64_t index, unsigned owner) {
    uint64_t x = draw(runtime_seed + k * 0x9e3779b97f4a7c15u + (index + 1) * 0xd1342543de82ef95u);
    unsigned thread = owner + 1 + (unsigned)(x * (runtime_threads - 1) >> 32);
    return thread < runtime_threads ? thread : thread - runtime_threads;
}

static lock_result_t run_object(guarded_t *object, lock_thread_t *self) {
    uint64_t critical = KEY(critical);
    uint64_t think = KEY(think);
    lock_result_t result = SUCCESS;
    for (uint64_t i = KEY(run_length); i != 0; i--) {
        result |= guarded_sync(object, self, critical);
        lock_safepoint(self);
        runtime_delay(think);
    }
    return result;
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    uint64_t count = KEY(objects);
    uint64_t acquired = 0; /* objects */
    for (uint64_t k = 0; k < KEY(runs); k++) {
        bool owned = owned_steps(k + 1) > owned_steps(k);
        if (k > 0)
            runtime_barrier(self);
        unsigned owner = 0; /* of object i */
        for (uint64_t i = 0; i < count; i++) {
            if (me == (owned ? owner : drawn_thread(k, i, owner))) {
                results[me] |= run_object(&objects[i], self);
                acquired++;
            }
            owner = owner + 1 == runtime_threads ? 0 : owner + 1;
        }
    }
    return acquired * KEY(run_length);
}

static const char *verify(uint64_t pairs) {
    uint64_t each = KEY(runs) * KEY(run_length);
    if (pairs != KEY(objects) * each)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (results[i] != SUCCESS)
            return "an acquire or a release did not succeed";
    }
    for (uint64_t i = 0; i < KEY(objects); i++) {
        const char *error = guarded_verify(&objects[i], each + 1);
        if (error)
            return error;
    }
    return 0;
}
