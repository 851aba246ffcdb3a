/* call: as nosync, with the body in a method (Bacon et al. 1998, Table 2: Call). The floor of
 * call_sync. Its `pairs` are loop turns. */
#include "kernels/method.h"
#include "kernels/uncontended.h"

static uint64_t run(lock_thread_t *self) {
    guarded_t *object = &objects[runtime_index(self)];
    uint64_t iterations = keys[0].value;
    for (uint64_t i = 0; i < iterations; i++) {
        plain_method(object, self);
        lock_safepoint(self);
    }
    return iterations;
}

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, keys[0].value); }

const workload_t workload = {"call", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
