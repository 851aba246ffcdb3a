/* nosync: sync without its lock (Bacon et al. 1998, Table 2: NoSync). Its `pairs` are iterations of
 * the loop. */
#define WORKLOAD_nosync
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

#include "kernels/uncontended.h"

static uint64_t run(lock_thread_t *self) {
    guarded_t *object = &objects[runtime_index(self)];
    uint64_t iterations = KEY(iterations);
    for (uint64_t i = 0; i < iterations; i++) {
        guarded_section(object, self, 0);
        lock_safepoint(self);
    }
    return iterations;
}

static const char *verify(uint64_t pairs) { return verify_pairs(pairs, KEY(iterations)); }
