/* threads_apart: as threads, with what the lock guards on a line of its own, as in a program that
 * has them in two variables: then two lines follow the lock from core to core. */
#define WORKLOAD_threads_apart
#include <stdint.h>

#include "lock.h"
#include "runtime/guarded.h"

static guarded_t object, guarded; /* the second one's lock is left alone */

static inline lock_result_t object_sync(lock_thread_t *self, uint64_t turns) {
    lock_result_t acquired = lock_acquire(&object.lock, self);
    guarded_section(&guarded, self, turns);
    return acquired | lock_release(&object.lock, self);
}

static inline const char *objects_verify(uint64_t pairs) {
    if (guarded.intrusions != 0 || guarded.counter != pairs)
        return "two threads were in one critical section";
    return guarded_verify(&object, 0);
}

#include "kernels/threads.inc"
