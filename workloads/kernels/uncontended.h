/* What sync and its variations (nosync, nested_sync, call_sync, ...) have in common: every thread
 * has an object of its own. */
#ifndef KERNELS_UNCONTENDED_H
#define KERNELS_UNCONTENDED_H
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

static guarded_t objects[LOCK_MAX_THREADS];
static lock_result_t results[LOCK_MAX_THREADS]; /* SUCCESS unless a lock operation failed */

static const char *setup(void) {
    for (unsigned i = 0; i < runtime_threads; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[i]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Checks the `pairs` of all threads against `pairs_each` of one, and every object against one
 * section an iteration. NULL, or which check failed. */
static const char *verify_pairs(uint64_t pairs, uint64_t pairs_each) {
    if (pairs != pairs_each * runtime_threads)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (results[i] != SUCCESS)
            return "an acquire or a release did not succeed";
        const char *error = guarded_verify(&objects[i], KEY(iterations));
        if (error)
            return error;
    }
    return 0;
}

#endif
