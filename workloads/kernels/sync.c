/* sync: each turn acquires and releases a free lock (Bacon et al. 1998, Table 2: Sync). With more
 * than one thread, each has an object of its own. */
#include "runtime/guarded.h"

static guarded_t objects[LOCK_MAX_THREADS];
static lock_result_t results[LOCK_MAX_THREADS];

static runtime_key_t keys[] = {{.name = "iterations", .low = 1, .high = UINT32_MAX},
                               RUNTIME_KEYS_END};

static const char *setup(void) {
    for (unsigned i = 0; i < runtime_threads; i++)
        lock_object_init(&objects[i].lock);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    guarded_t *object = &objects[runtime_index(self)];
    uint64_t iterations = keys[0].value;
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < iterations; i++) {
        result |= guarded_sync(object, self, 0);
        lock_safepoint(self);
    }
    results[runtime_index(self)] = result;
    return iterations;
}

static const char *verify(uint64_t pairs) {
    if (pairs != keys[0].value * runtime_threads)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (results[i] != SUCCESS)
            return "an acquire or a release did not succeed";
        const char *error = guarded_verify(&objects[i], keys[0].value);
        if (error)
            return error;
    }
    return 0;
}

const workload_t workload = {"sync", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
