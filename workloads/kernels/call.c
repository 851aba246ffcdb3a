/* call: nosync with the body of the loop in a method (Bacon et al. 1998, Table 2: Call): the cost
 * of call_sync without its lock. Its `pairs` are iterations of the loop. */
#define WORKLOAD_call
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
    for (uint64_t i = 0; i < iterations; i++) {
        plain_method(object, self);
        lock_safepoint(self);
    }
    return iterations;
}

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, KEY(iterations)); }
