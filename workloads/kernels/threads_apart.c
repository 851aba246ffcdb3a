/* threads_apart: as threads, with what the lock guards on a line of its own, as in a program that
 * has them in two variables: then two lines follow the lock from core to core. */
#define WORKLOAD_threads_apart
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

static guarded_t object, guarded; /* the second one's lock is left alone */

static inline lock_result_t threads_sync(lock_thread_t *self, uint64_t turns) {
    lock_result_t acquired = lock_acquire(&object.lock, self);
    guarded_section(&guarded, self, turns);
    return acquired | lock_release(&object.lock, self);
}

#include "kernels/threads.inc"

static const char *verify(uint64_t pairs) {
    const char *error = threads_verify(pairs);
    if (!error)
        error = guarded_verify(&object, 0);
    return error ? error : guarded_verify_sections(&guarded, pairs);
}
