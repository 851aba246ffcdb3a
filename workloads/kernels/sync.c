/* sync: each iteration acquires and releases a free lock (Bacon et al. 1998, Table 2: Sync). Every
 * thread has an object of its own. */
#define WORKLOAD_sync
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

#include "kernels/uncontended.h"

static uint64_t run(lock_thread_t *self) {
    guarded_t *object = &objects[runtime_index(self)];
    uint64_t iterations = KEY(iterations);
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < iterations; i++) {
        result |= guarded_sync(object, self, 0);
        lock_safepoint(self);
    }
    results[runtime_index(self)] = result;
    return iterations;
}

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, KEY(iterations)); }
