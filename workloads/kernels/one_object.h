/* What the benchmarks of contention (Kawachiya 2005, Table 4.5) have in common: one object that all
 * threads lock, thread 0 first, and for each thread one of its own to warm up with. */
#ifndef KERNELS_ONE_OBJECT_H
#define KERNELS_ONE_OBJECT_H
#include "lock.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

static guarded_t object, own[LOCK_MAX_THREADS];

static const char *setup(void) {
    lock_object_init_for(&object.lock, &lock_threads[0]);
    for (unsigned i = 0; i < runtime_threads; i++)
        lock_object_init_for(&own[i].lock, &lock_threads[i]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

#endif
