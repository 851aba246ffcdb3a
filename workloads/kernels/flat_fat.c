/* flat_fat: what is left of contention when it is over (Kawachiya 2005, 4.6.1, Table 4.5 and Figure
 * 4.12: FlatFat n m, where n is `threads` and m is `iterations`). There are `sections` sections,
 * flat and fat in turn, the first one flat. In a flat section thread 0 executes a small
 * synchronized block n times m times while the others wait in a barrier; in a fat section every
 * thread executes it m times, on the same object. The block has `critical` iterations of a delay
 * loop inside and `think` behind it. Phase k is section k. */
#define WORKLOAD_flat_fat
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"

#include "kernels/one_object.h"

static lock_result_t blocks(lock_thread_t *self, uint64_t count) {
    uint64_t critical = KEY(critical);
    uint64_t think = KEY(think);
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < count; i++) {
        result |= guarded_sync(&object, self, critical);
        lock_safepoint(self);
        runtime_delay(think);
    }
    return result;
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    uint64_t iterations = KEY(iterations);
    uint64_t pairs = 0;
    lock_result_t result = guarded_sync(&own[me], self, KEY(critical)); /* warms up */
    for (uint64_t section = 1; section <= KEY(sections); section++) {
        bool flat = section % 2 == 1;
        uint64_t count = !flat ? iterations : me == 0 ? iterations * runtime_threads : 0;
        runtime_barrier(self);
        if (me == 0)
            runtime_phase(self, section);
        result |= blocks(self, count);
        pairs += count;
    }
    outcome_note(self, result);
    return pairs;
}

static const char *verify(uint64_t pairs) {
    uint64_t expected = KEY(sections) * KEY(iterations) * runtime_threads;
    const char *error = outcome_verify(pairs, expected);
    return error ? error : guarded_verify(&object, expected);
}
