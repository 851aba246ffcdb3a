/* threads: every thread acquires and releases the lock of one shared object (Bacon et al. 1998,
 * Table 2: Threads n), `iterations` times each, with `critical` turns of delay inside the section
 * and `think` outside. Before that each does one pair on an object of its own, uncounted, and they
 * meet: so it is not cold caches that decide who comes first and whether any two collide at all. */
#include "runtime/guarded.h"

enum { ITERATIONS, CRITICAL, THINK };

static guarded_t object, own[LOCK_MAX_THREADS];
static lock_result_t results[LOCK_MAX_THREADS];

static runtime_key_t keys[] = {
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX},
    [CRITICAL] = {.name = "critical", .high = UINT32_MAX, .optional = true},
    [THINK] = {.name = "think", .high = UINT32_MAX, .optional = true},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    lock_object_init(&object.lock);
    for (unsigned i = 0; i < LOCK_MAX_THREADS; i++)
        lock_object_init(&own[i].lock);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    uint64_t iterations = keys[ITERATIONS].value;
    uint64_t critical = keys[CRITICAL].value;
    uint64_t think = keys[THINK].value;
    lock_result_t result = guarded_sync(&own[runtime_index(self)], self, critical);
    runtime_barrier(self);
    for (uint64_t i = 0; i < iterations; i++) {
        result |= guarded_sync(&object, self, critical);
        lock_safepoint(self);
        runtime_delay(think);
    }
    results[runtime_index(self)] = result;
    return iterations;
}

static const char *verify(uint64_t pairs) {
    if (pairs != keys[ITERATIONS].value * runtime_threads)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (results[i] != SUCCESS)
            return "an acquire or a release did not succeed";
    }
    return guarded_verify(&object, pairs);
}

const workload_t workload = {"threads", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
