/* What the benchmarks of contention (Kawachiya 2005, Table 4.5) have in common: one object that all
 * threads want, first locked by thread 0, and one of each thread's own to warm up on. */
#ifndef KERNELS_ONE_OBJECT_H
#define KERNELS_ONE_OBJECT_H

#include "runtime/outcome.h"

static guarded_t object, own[LOCK_MAX_THREADS];

static const char *setup(void) {
    lock_object_init_for(&object.lock, &lock_threads[0]);
    for (unsigned i = 0; i < runtime_threads; i++)
        lock_object_init_for(&own[i].lock, &lock_threads[i]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

#endif
