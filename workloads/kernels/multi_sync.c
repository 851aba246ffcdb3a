/* multi_sync: each iteration acquires and releases the locks of `objects` objects, one after the
 * other (Bacon et al. 1998, Table 2: MultiSync n): a working set of locks. One thread. */
#define WORKLOAD_multi_sync
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"

static guarded_t objects[MAX_objects];

static const char *setup(void) {
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[0]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    uint64_t count = KEY(objects);
    uint64_t iterations = KEY(iterations);
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
    const char *error = outcome_verify(pairs, KEY(objects) * KEY(iterations));
    for (uint64_t i = 0; !error && i < KEY(objects); i++)
        error = guarded_verify(&objects[i], KEY(iterations));
    return error;
}
