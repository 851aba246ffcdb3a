/* footprint: what each uncontended path through a lock is made of. It measures no time: an engine
 * counts instructions, accesses and atomics between phases.
 *
 * There are two objects. `own` belongs to thread 0, the only thread that ever locks it; `foreign`
 * was made and first locked by thread 1, then locked by thread 0, which is measured. With one
 * thread there is only `own`. Every path has been taken before. Each is one call of a function that
 * does nothing else, and one phase:
 *   1 nothing   2 acquire   3 nested acquire   4 nested release   5 release   of `own`
 *   6 nothing   7 to 10, the same of `foreign`   11 nothing
 * and so on, `iterations` times, with phases counting on. The counts of a path are those of its
 * phase less those of phase 1, which has the call, the marker and the loop; they are the same in
 * every phase but the last.
 *
 * Reports `object_bytes`, the size of an object's header, and `monitor_bytes`, of a monitor. */
#define WORKLOAD_footprint
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"

enum { WARM = 32 }; /* more acquisitions than any lock counts before it changes its ways */

/* A lock that includes monitor.h has such monitors, unless it says how large its monitors are. */
#ifndef LOCK_MONITOR_BYTES
#ifdef LOCKCROSS_MONITOR_H
#include "monitor/monitor.h"
#define LOCK_MONITOR_BYTES sizeof(monitor_t)
#else
#define LOCK_MONITOR_BYTES 0
#endif
#endif

typedef lock_result_t operation_t(lock_object_t *obj, lock_thread_t *self);

static guarded_t own, foreign;

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
} paths[] = {
    {nothing, &own},     {acquire, &own},     {acquire, &own},     {release, &own},
    {release, &own},     {nothing, &own},     {acquire, &foreign}, {acquire, &foreign},
    {release, &foreign}, {release, &foreign}, {nothing, &own},
};
enum { PATHS = sizeof paths / sizeof *paths, PATHS_ALONE = 6, PAIRS_OF_ONE = 2 };

static unsigned path_count(void) { return runtime_threads == 1 ? PATHS_ALONE : PATHS; }

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
        for (unsigned path = 0; path < path_count(); path++)
            outcome_note(self, paths[path].operation(&paths[path].object->lock, self));
    }
}

static uint64_t run(lock_thread_t *self) {
    uint64_t iterations = KEY(iterations);
    if (runtime_index(self) != 0)
        return 0;
    uint64_t phase = 0;
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < iterations; i++) {
        for (unsigned path = 0; path < path_count(); path++) {
            runtime_phase(self, ++phase);
            result |= paths[path].operation(&paths[path].object->lock, self);
        }
    }
    outcome_note(self, result);
    return iterations * runtime_threads * PAIRS_OF_ONE;
}

static const char *verify(uint64_t pairs) {
    METRIC_VALUE(object_bytes) = sizeof(lock_object_t);
    METRIC_VALUE(monitor_bytes) = LOCK_MONITOR_BYTES;
    const char *error = outcome_verify(pairs, KEY(iterations) * runtime_threads * PAIRS_OF_ONE);
    if (error)
        return error;
    if (!lock_is_idle(&own.lock) || !lock_is_idle(&foreign.lock))
        return "a lock is not idle at the end";
    return 0;
}
