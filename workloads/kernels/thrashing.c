/* thrashing: in every iteration contention begins and ends (Kawachiya 2005, 4.6.1: Thrashing m,
 * where m is `iterations`). Two threads; one of them, in turn, acquires the lock and keeps it until
 * the other one has tried to acquire it and `hold` turns of a loop have passed; then the other one
 * has the lock too, and nobody wants it any more. A lock that inflates when it is contended and
 * deflates when it is not does both `iterations` times.
 *
 * No lock tells that somebody waits for it, so `hold` has to be long enough that the other one has
 * given up spinning and waits. The source does not say how it forces contention. */
#include "kernels/one_object.h"
#include "runtime/turn.h"

enum { ITERATIONS, HOLD };

/* Of iteration i, from 0: 2 i while nobody has the lock; 2 i + 1 when the first one has it. */
static turn_t turn;
static turn_t attempts; /* iterations in which the second one is about to acquire */

static runtime_key_t keys[] = {
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = INT32_MAX},
    [HOLD] = {.name = "hold", .high = UINT32_MAX},
    RUNTIME_KEYS_END,
};

static lock_result_t iterate_first(lock_thread_t *self, uint32_t i) {
    turn_await(&turn, self, 2 * i);
    lock_result_t result = lock_acquire(&object.lock, self);
    turn_pass(&turn, 2 * i + 1);
    turn_await(&attempts, self, i + 1);
    for (uint64_t k = keys[HOLD].value; k != 0; k--)
        lock_safepoint(self);
    guarded_section(&object, self, 0);
    return result | lock_release(&object.lock, self);
}

static lock_result_t iterate_second(lock_thread_t *self, uint32_t i) {
    turn_await(&turn, self, 2 * i + 1);
    turn_pass(&attempts, i + 1);
    lock_result_t result = guarded_sync(&object, self, 0);
    turn_pass(&turn, 2 * i + 2);
    return result;
}

static uint64_t run(lock_thread_t *self) {
    uint32_t iterations = (uint32_t)keys[ITERATIONS].value;
    lock_result_t result = guarded_sync(&own[runtime_index(self)], self, 0); /* warms up */
    runtime_barrier(self);
    for (uint32_t i = 0; i < iterations; i++) {
        bool first = i % 2 == runtime_index(self);
        result |= first ? iterate_first(self, i) : iterate_second(self, i);
        lock_safepoint(self);
    }
    outcome_note(self, result);
    return iterations;
}

static const char *verify(uint64_t pairs) {
    const char *error = outcome_verify(pairs, 2 * keys[ITERATIONS].value);
    return error ? error : guarded_verify(&object, 2 * keys[ITERATIONS].value);
}

const workload_t workload = {"thrashing", keys, 2, 2, setup, prepare, run, verify};
