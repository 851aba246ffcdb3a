/* threads: every thread acquires and releases the lock of one shared object (Bacon et al. 1998,
 * Table 2: Threads n), `iterations` times, with `critical` iterations of a delay loop inside the
 * section and `think` outside. */
#define WORKLOAD_threads
#include <stdint.h>

#include "lock.h"
#include "runtime/guarded.h"

static guarded_t object;

static inline lock_result_t object_sync(lock_thread_t *self, uint64_t turns) {
    return guarded_sync(&object, self, turns);
}

static inline const char *objects_verify(uint64_t pairs) { return guarded_verify(&object, pairs); }

#include "kernels/threads.inc"
