/* threads: every thread acquires and releases the lock of one shared object (Bacon et al. 1998,
 * Table 2: Threads n), `iterations` times, with `critical` iterations of a delay loop inside the
 * section and `think` outside. Before that each does one pair on an object of its own, which is not
 * counted, and they meet in a barrier: so cold caches do not decide which thread comes first, or
 * whether any two of them collide at all. */
#define WORKLOAD_threads
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

static guarded_t object, own[LOCK_MAX_THREADS];
static lock_result_t results[LOCK_MAX_THREADS];

static const char *setup(void) {
    lock_object_init(&object.lock);
    for (unsigned i = 0; i < LOCK_MAX_THREADS; i++)
        lock_object_init(&own[i].lock);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    uint64_t iterations = KEY(iterations);
    uint64_t critical = KEY(critical);
    uint64_t think = KEY(think);
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
    if (pairs != KEY(iterations) * runtime_threads)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (results[i] != SUCCESS)
            return "an acquire or a release did not succeed";
    }
    return guarded_verify(&object, pairs);
}
