/* thrashing: contention begins and ends in every iteration (Kawachiya 2005, 4.6.1: Thrashing m,
 * where m is `iterations`). The two threads take turns: one acquires the lock and keeps it until
 * the other has tried to acquire it and `hold` iterations of a loop have passed; then the other
 * gets the lock too, and nobody wants it any more. A lock that inflates when it is contended and
 * deflates when it is not does both `iterations` times.
 *
 * No lock tells whether a thread waits for it, so `hold` has to be long enough for the other thread
 * to give up spinning and wait. The source does not say how it forces contention.
 *
 * An iteration begins only after both threads have left the one before: the release of a tasuki
 * lock enters the object's monitor to wake a contender, and that one may hold it by then. */
#define WORKLOAD_thrashing
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

#include "kernels/one_object.h"

/* In iteration i, from 0: 3 i, 3 i + 1 once the first thread has the lock, 3 i + 2 once the second
 * has released it. */
static turn_t turn;
/* Iterations in which the second thread has come to acquire. */
static turn_t attempts;

static lock_result_t iterate_first(lock_thread_t *self, uint32_t i) {
    turn_await(&turn, self, 3 * i);
    lock_result_t result = lock_acquire(&object.lock, self);
    turn_pass(&turn, 3 * i + 1);
    turn_await(&attempts, self, i + 1);
    for (uint64_t k = KEY(hold); k != 0; k--)
        lock_safepoint(self);
    guarded_section(&object, self, 0);
    result |= lock_release(&object.lock, self);
    turn_await(&turn, self, 3 * i + 2);
    turn_pass(&turn, 3 * i + 3);
    return result;
}

static lock_result_t iterate_second(lock_thread_t *self, uint32_t i) {
    turn_await(&turn, self, 3 * i + 1);
    turn_pass(&attempts, i + 1);
    lock_result_t result = guarded_sync(&object, self, 0);
    turn_pass(&turn, 3 * i + 2);
    return result;
}

static uint64_t run(lock_thread_t *self) {
    uint32_t iterations = (uint32_t)KEY(iterations);
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
    const char *error = outcome_verify(pairs, 2 * KEY(iterations));
    return error ? error : guarded_verify(&object, 2 * KEY(iterations));
}
