/* The results of each thread's lock operations, and their check. */
#ifndef RUNTIME_OUTCOME_H
#define RUNTIME_OUTCOME_H
#include <stdint.h>

#include "lock.h"
#include "runtime/runtime.h"

static lock_result_t outcomes[LOCK_MAX_THREADS]; /* SUCCESS unless a lock operation failed */

/* Adds what lock operations of the calling thread returned, or-ed together. */
static inline void outcome_note(const lock_thread_t *self, lock_result_t result) {
    outcomes[runtime_index(self)] |= result;
}

/* After all threads are done. NULL, or which check failed. */
static inline const char *outcome_verify(uint64_t pairs, uint64_t expected) {
    if (pairs != expected)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (outcomes[i] != SUCCESS)
            return "an acquire or a release did not succeed";
    }
    return 0;
}

#endif
