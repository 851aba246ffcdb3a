/* nested_call_sync: nested_sync by calling a synchronized method (Bacon et al. 1998, Table 2:
 * NestedCallSync). The pair around the loop lies in the region of interest and counts. */
#define WORKLOAD_nested_call_sync
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

#include "kernels/method.h"
#include "kernels/uncontended.h"

static uint64_t run(lock_thread_t *self) {
    guarded_t *object = &objects[runtime_index(self)];
    uint64_t iterations = KEY(iterations);
    lock_result_t result = lock_acquire(&object->lock, self);
    for (uint64_t i = 0; i < iterations; i++) {
        result |= synchronized_method(object, self);
        lock_safepoint(self);
    }
    results[runtime_index(self)] = result | lock_release(&object->lock, self);
    return iterations + 1;
}

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, KEY(iterations) + 1); }
