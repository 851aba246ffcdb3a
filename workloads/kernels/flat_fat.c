/* flat_fat: what is left of contention when it is over (Kawachiya 2005, 4.6.1, Table 4.5 and Figure
 * 4.12: FlatFat n m, where n is `threads` and m `iterations`). Flat and fat sections take turns,
 * `sections` of them, the first one flat: in a flat section thread 0 executes a small synchronized
 * block n times m times, while the others wait in a barrier; in a fat section all threads execute
 * it m times each, on the same object. Phase k is section k. */
#include "kernels/one_object.h"

enum { ITERATIONS, SECTIONS, CRITICAL, THINK };

static runtime_key_t keys[] = {
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX},
    [SECTIONS] = {.name = "sections", .low = 1, .high = 1000000},
    [CRITICAL] = {.name = "critical", .high = UINT32_MAX, .optional = true},
    [THINK] = {.name = "think", .high = UINT32_MAX, .optional = true},
    RUNTIME_KEYS_END,
};

static lock_result_t blocks(lock_thread_t *self, uint64_t count) {
    uint64_t critical = keys[CRITICAL].value;
    uint64_t think = keys[THINK].value;
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
    uint64_t iterations = keys[ITERATIONS].value;
    uint64_t pairs = 0;
    lock_result_t result = guarded_sync(&own[me], self, keys[CRITICAL].value); /* warms up */
    for (uint64_t section = 1; section <= keys[SECTIONS].value; section++) {
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
    uint64_t expected = keys[SECTIONS].value * keys[ITERATIONS].value * runtime_threads;
    const char *error = outcome_verify(pairs, expected);
    return error ? error : guarded_verify(&object, expected);
}

const workload_t workload = {"flat_fat", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
