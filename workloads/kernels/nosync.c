/* nosync: the loop and the body of sync without the lock (Bacon et al. 1998, Table 2: NoSync). Its
 * `pairs` are loop turns. */
#include "kernels/uncontended.h"

static uint64_t run(lock_thread_t *self) {
    guarded_t *object = &objects[runtime_index(self)];
    uint64_t iterations = keys[0].value;
    for (uint64_t i = 0; i < iterations; i++) {
        guarded_section(object, self, 0);
        lock_safepoint(self);
    }
    return iterations;
}

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, keys[0].value); }

const workload_t workload = {"nosync", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
