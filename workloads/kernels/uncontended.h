/* Of the kernels in which every thread has an object of its own: nosync, sync, nested_sync,
 * mixed_sync. One argument, the iterations of each thread. */
#ifndef KERNELS_UNCONTENDED_H
#define KERNELS_UNCONTENDED_H

#include "runtime/guarded.h"

static guarded_t objects[LOCK_MAX_THREADS];
static lock_result_t results[LOCK_MAX_THREADS]; /* SUCCESS unless a lock operation failed */

static runtime_key_t keys[] = {{.name = "iterations", .low = 1, .high = UINT32_MAX},
                               RUNTIME_KEYS_END};

static const char *setup(void) {
    for (unsigned i = 0; i < runtime_threads; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[i]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self);

/* `pairs` of all threads, against what each should have done; one section an iteration. */
static const char *verify_pairs(uint64_t pairs, uint64_t pairs_each) {
    if (pairs != pairs_each * runtime_threads)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (results[i] != SUCCESS)
            return "an acquire or a release did not succeed";
        const char *error = guarded_verify(&objects[i], keys[0].value);
        if (error)
            return error;
    }
    return 0;
}

#endif
