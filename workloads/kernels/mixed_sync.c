/* mixed_sync: each iteration acquires the lock of one object three deep (Bacon et al. 1998, section
 * 3.5 and Figure 6: MixedSync), which counts as three pairs. */
#define WORKLOAD_mixed_sync
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
        result |= lock_acquire(&object->lock, self);
        result |= lock_acquire(&object->lock, self);
        result |= guarded_sync(object, self, 0);
        result |= lock_release(&object->lock, self);
        result |= lock_release(&object->lock, self);
        lock_safepoint(self);
    }
    results[runtime_index(self)] = result;
    return 3 * iterations;
}

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, 3 * KEY(iterations)); }
