/* sync: each turn acquires and releases a free lock (Bacon et al. 1998, Table 2: Sync). With more
 * than one thread, each has an object of its own. */
#include "kernels/uncontended.h"

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

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, keys[0].value); }

const workload_t workload = {"sync", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
