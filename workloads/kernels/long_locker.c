/* long_locker: thread 0 holds a lock during a long computation, `hold` iterations of a loop, while
 * all other threads try to acquire it (Kawachiya 2005, 4.6.1, Table 4.5 and Figure 4.11: LongLocker
 * n, where n is `threads`). Phase 1 is the computation; in phase 2 the others get the lock, one
 * after the other, once each.
 *
 * In the source the computation takes 5 seconds on one processor, and waiters that spin take time
 * from it; with a core for each thread they can only take memory bandwidth. */
#define WORKLOAD_long_locker
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"

#include "kernels/one_object.h"

enum { COMPUTATION = 1, WAITERS };

/* The section, with a safepoint in each iteration of the computation. */
static void compute(lock_thread_t *self) {
    object.holder = self->tid;
    object.counter++;
    for (uint64_t i = KEY(hold); i != 0; i--)
        lock_safepoint(self);
    if (object.holder != self->tid)
        object.intrusions++;
}

static uint64_t run(lock_thread_t *self) {
    bool holder = runtime_index(self) == 0;
    lock_result_t result = guarded_sync(&own[runtime_index(self)], self, 0); /* warms up */
    if (holder)
        result |= lock_acquire(&object.lock, self);
    runtime_barrier(self);
    if (holder) {
        runtime_phase(self, COMPUTATION);
        compute(self);
        runtime_phase(self, WAITERS);
        result |= lock_release(&object.lock, self);
    } else {
        result |= guarded_sync(&object, self, 0);
    }
    outcome_note(self, result);
    return 1;
}

static const char *verify(uint64_t pairs) {
    const char *error = outcome_verify(pairs, runtime_threads);
    return error ? error : guarded_verify(&object, runtime_threads);
}
