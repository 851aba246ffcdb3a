/* threads: every thread acquires and releases the lock of one shared object (Bacon et al. 1998,
 * Table 2: Threads n), `iterations` times, with `critical` iterations of a delay loop inside the
 * section and `think` outside. */
#define WORKLOAD_threads
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

static guarded_t object;

static inline lock_result_t threads_sync(lock_thread_t *self, uint64_t turns) {
    return guarded_sync(&object, self, turns);
}

#include "kernels/threads.inc"

static const char *verify(uint64_t pairs) {
    const char *error = threads_verify(pairs);
    return error ? error : guarded_verify(&object, pairs);
}
