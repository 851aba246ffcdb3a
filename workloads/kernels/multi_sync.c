/* multi_sync: each iteration acquires and releases the locks of `objects` objects, one after the
 * other (Bacon et al. 1998, Table 2: MultiSync n): a working set of locks. One thread. */
#include "runtime/outcome.h"

enum { OBJECTS, ITERATIONS };
enum { OBJECTS_MAX = 16384 };

static guarded_t objects[OBJECTS_MAX];

static runtime_key_t keys[] = {
    [OBJECTS] = {.name = "objects", .low = 1, .high = OBJECTS_MAX},
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[0]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    uint64_t count = keys[OBJECTS].value;
    uint64_t iterations = keys[ITERATIONS].value;
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < iterations; i++) {
        for (uint64_t k = 0; k < count; k++) {
            result |= guarded_sync(&objects[k], self, 0);
            lock_safepoint(self);
        }
    }
    outcome_note(self, result);
    return iterations * count;
}

static const char *verify(uint64_t pairs) {
    const char *error = outcome_verify(pairs, keys[OBJECTS].value * keys[ITERATIONS].value);
    for (uint64_t i = 0; !error && i < keys[OBJECTS].value; i++)
        error = guarded_verify(&objects[i], keys[ITERATIONS].value);
    return error;
}

const workload_t workload = {"multi_sync", keys, 1, 1, setup, prepare, run, verify};
