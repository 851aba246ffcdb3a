/* transition: what the transitions of a lock that knows its first locker cost (Kawachiya 2005,
 * 5.5.2, Table 5.5: TransitionTest). Two threads lock each of `objects` objects once a phase:
 *   phase 1  thread 0, for the first time   anonymous to specific
 *   phase 2  thread 0 again
 *   phase 4  thread 1, for the first time   reserved to base: cancellation
 *   phase 5  thread 1 again
 *   phase 7  thread 0 again                 in the base mode
 * and phases 3, 6 and 8 are what lies between and behind. The difference of phases 1 and 2, and of
 * 4 and 5, is the cost of `objects` transitions; what acquiring costs without one is not in it, as
 * in the source. So that moving lines between the cores is not in it either, a thread writes to the
 * objects before its turn; and it has done the same with spare objects, to warm up.
 *
 * In phase 4 the first thread waits or runs (`owner`): stopping a thread that waits needs no answer
 * from it. The source's faster and slower case are whether its context had to be fetched. */
#include "runtime/outcome.h"
#include "runtime/turn.h"

enum { OBJECTS, OWNER };
enum { WAITING, RUNNING };
enum { OBJECTS_MAX = 16384, SPARE = 16 };
enum { SPECIFIC = 1, CANCELLATION = 4, BASE_OF_FIRST = 7, END };

static guarded_t objects[OBJECTS_MAX], spare[2][SPARE];
static turn_t done; /* of the second thread: 1 when it has cancelled */

static const char *const owners[] = {"waiting", "running", 0};
static runtime_key_t keys[] = {
    [OBJECTS] = {.name = "objects", .low = 1, .high = OBJECTS_MAX},
    [OWNER] = {.name = "owner", .choices = owners},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[0]);
    for (unsigned i = 0; i < 2 * SPARE; i++)
        lock_object_init_for(&spare[i / SPARE][i % SPARE].lock, &lock_threads[i / SPARE]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Brings the objects into this core's cache, ready to be written, and locks none. */
static void take_lines(lock_thread_t *self) {
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        objects[i].holder = self->tid;
        lock_safepoint(self);
    }
}

static lock_result_t pass(guarded_t *array, uint64_t count, lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < count; i++) {
        result |= guarded_sync(&array[i], self, 0);
        lock_safepoint(self);
    }
    return result;
}

static lock_result_t run_phase(lock_thread_t *self, uint64_t phase) {
    runtime_phase(self, phase);
    return pass(objects, keys[OBJECTS].value, self);
}

/* Two phases, in which the objects are new to the thread and then known to it. The spare objects
 * warm up, and let the stores of take_lines end. */
static lock_result_t run_phases(lock_thread_t *self, uint64_t first) {
    guarded_t *own = spare[runtime_index(self)];
    lock_result_t result = pass(own, SPARE, self);
    take_lines(self);
    result |= pass(own, SPARE, self);
    result |= run_phase(self, first);
    result |= run_phase(self, first + 1);
    runtime_phase(self, first + 2);
    return result;
}

static lock_result_t run_first(lock_thread_t *self) {
    lock_result_t result = run_phases(self, SPECIFIC);
    runtime_barrier(self);
    while (keys[OWNER].value == RUNNING && load_acq_u32(&done.number) == 0)
        lock_safepoint(self);
    runtime_barrier(self);
    take_lines(self);
    result |= run_phase(self, BASE_OF_FIRST);
    runtime_phase(self, END);
    return result;
}

static lock_result_t run_second(lock_thread_t *self) {
    runtime_barrier(self);
    lock_result_t result = run_phases(self, CANCELLATION);
    turn_pass(&done, 1);
    runtime_barrier(self);
    return result;
}

static uint64_t run(lock_thread_t *self) {
    bool first = runtime_index(self) == 0;
    outcome_note(self, first ? run_first(self) : run_second(self));
    return keys[OBJECTS].value * (first ? 3 : 2);
}

static const char *verify(uint64_t pairs) {
    const char *error = outcome_verify(pairs, keys[OBJECTS].value * 5);
    for (uint64_t i = 0; !error && i < keys[OBJECTS].value; i++)
        error = guarded_verify(&objects[i], 5);
    return error;
}

const workload_t workload = {"transition", keys, 2, 2, setup, prepare, run, verify};
