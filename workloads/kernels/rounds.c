/* rounds: two threads, T and S, take turns of three rounds each, T T T S S S T T T ..., `rounds`
 * rounds in all; in a round every object of an array is acquired and released once (Kawachiya 2005,
 * 6.6.1, Figures 6.14 and 6.15). No lock is ever contended. Phase n is round n, from 1, reported by
 * the thread that runs it. */
#define WORKLOAD_rounds
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"

static guarded_t objects[MAX_objects];

static inline lock_result_t object_sync(guarded_t *object, lock_thread_t *self) {
    return guarded_sync(object, self, 0);
}

#include "kernels/rounds.inc"

static const char *verify(uint64_t pairs) {
    const char *error = rounds_verify(pairs);
    for (uint64_t i = 0; !error && i < KEY(objects); i++)
        error = guarded_verify(&objects[i], KEY(rounds));
    return error;
}
