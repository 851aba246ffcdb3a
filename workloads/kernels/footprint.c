/* footprint: what each uncontended way through a lock is made of. No time is measured: an engine
 * counts instructions, accesses and atomics between phases.
 *
 * Two objects: `own` belongs to thread 0, which alone ever locks it; `foreign` was made and first
 * locked by thread 1, then by thread 0, which is measured. With one thread there is only `own`. All
 * ways have been gone before. Each is one call of a function that does nothing else, and a phase:
 *   1 nothing   2 acquire   3 nested acquire   4 nested release   5 release   of `own`
 *   6 nothing   7 to 10, the same of `foreign`   11 nothing
 * and so on, `iterations` times, phases counting on. A way's counts are those of its phase less
 * those of phase 1: the call, the marker and the loop, the same for all but the last phase. */
#include "runtime/outcome.h"

enum { ITERATIONS };
enum { WARM = 32 }; /* more than the hot locks ask of an object that is to prove hot */

typedef lock_result_t operation_t(lock_object_t *obj, lock_thread_t *self);

static guarded_t own, foreign;

static runtime_key_t keys[] = {
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = 1000},
    RUNTIME_KEYS_END,
};

#ifndef LOCK_MONITOR_BYTES
#ifdef LOCKCROSS_MONITOR_H
#define LOCK_MONITOR_BYTES sizeof(monitor_t)
#else
#define LOCK_MONITOR_BYTES 0
#endif
#endif

runtime_extra_t runtime_extras[] = {
    {"object_bytes", sizeof(lock_object_t)}, {"monitor_bytes", LOCK_MONITOR_BYTES}, {0, 0}};

static RUNTIME_OPAQUE lock_result_t nothing(lock_object_t *obj, lock_thread_t *self) {
    (void)obj, (void)self;
    return SUCCESS;
}

static RUNTIME_OPAQUE lock_result_t acquire(lock_object_t *obj, lock_thread_t *self) {
    return lock_acquire(obj, self);
}

static RUNTIME_OPAQUE lock_result_t release(lock_object_t *obj, lock_thread_t *self) {
    return lock_release(obj, self);
}

static const struct {
    operation_t *operation;
    guarded_t *object;
} ways[] = {
    {nothing, &own},     {acquire, &own},     {acquire, &own},     {release, &own},
    {release, &own},     {nothing, &own},     {acquire, &foreign}, {acquire, &foreign},
    {release, &foreign}, {release, &foreign}, {nothing, &own},
};
enum { WAYS = sizeof ways / sizeof *ways, WAYS_ALONE = 6, PAIRS_OF_ONE = 2 };

static unsigned way_count(void) { return runtime_threads == 1 ? WAYS_ALONE : WAYS; }

static const char *setup(void) {
    lock_object_init_for(&own.lock, &lock_threads[0]);
    lock_object_init_for(&foreign.lock, &lock_threads[1]);
    return 0;
}

static void prepare(lock_thread_t *self) {
    if (runtime_index(self) == 1)
        outcome_note(self, guarded_sync(&foreign, self, 0));
    runtime_barrier(self);
    for (unsigned i = 0; i < WARM && runtime_index(self) == 0; i++) {
        for (unsigned way = 0; way < way_count(); way++)
            outcome_note(self, ways[way].operation(&ways[way].object->lock, self));
    }
}

static uint64_t run(lock_thread_t *self) {
    uint64_t iterations = keys[ITERATIONS].value;
    if (runtime_index(self) != 0)
        return 0;
    uint64_t phase = 0;
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < iterations; i++) {
        for (unsigned way = 0; way < way_count(); way++) {
            runtime_phase(self, ++phase);
            result |= ways[way].operation(&ways[way].object->lock, self);
        }
    }
    outcome_note(self, result);
    return iterations * runtime_threads * PAIRS_OF_ONE;
}

static const char *verify(uint64_t pairs) {
    const char *error =
        outcome_verify(pairs, keys[ITERATIONS].value * runtime_threads * PAIRS_OF_ONE);
    if (error)
        return error;
    if (!lock_is_idle(&own.lock) || !lock_is_idle(&foreign.lock))
        return "a lock is not idle at the end";
    return 0;
}

const workload_t workload = {"footprint", keys, 1, 2, setup, prepare, run, verify};
