/* random_threads: threads, but each thinks for a random time, `think` iterations of the delay loop
 * on average, drawn from the seed. Where all times are fixed, contenders fall into step, and a
 * difference of a cycle decides for a whole run whether they collide; here it does not. Ours, in no
 * source. */
#define WORKLOAD_random_threads
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

static guarded_t object;

/* Of each thread. */
static struct {
    guarded_t object; /* to warm up with */
    uint64_t random;
    lock_result_t result;
} __attribute__((aligned(LOCK_LINE))) own[LOCK_MAX_THREADS];

static const char *setup(void) {
    lock_object_init(&object.lock);
    for (unsigned i = 0; i < runtime_threads; i++)
        lock_object_init(&own[i].object.lock);
    return 0;
}

static void prepare(lock_thread_t *self) {
    own[runtime_index(self)].random =
        (runtime_seed * LOCK_MAX_THREADS + self->tid) * 0x9e3779b97f4a7c15u;
}

static void think(uint64_t *random, uint64_t average) {
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    runtime_delay((*random >> 32) * (2 * average + 1) >> 32);
}

static uint64_t run(lock_thread_t *self) {
    unsigned index = runtime_index(self);
    uint64_t iterations = KEY(iterations);
    uint64_t critical = KEY(critical);
    uint64_t average = KEY(think);
    uint64_t random = own[index].random;
    lock_result_t result = guarded_sync(&own[index].object, self, critical);
    runtime_barrier(self);
    for (uint64_t i = 0; i < iterations; i++) {
        think(&random, average);
        result |= guarded_sync(&object, self, critical);
        lock_safepoint(self);
    }
    own[index].result = result;
    return iterations;
}

static const char *verify(uint64_t pairs) {
    if (pairs != KEY(iterations) * runtime_threads)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (own[i].result != SUCCESS)
            return "an acquire or a release did not succeed";
    }
    return guarded_verify(&object, pairs);
}
