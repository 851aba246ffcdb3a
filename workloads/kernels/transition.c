/* transition: what the transitions of a lock that knows its first locker cost (Kawachiya 2005,
 * 5.5.2, Table 5.5: TransitionTest). Two threads lock each of `objects` objects once a phase:
 *   phase 1  thread 0, for the first time   anonymous to specific
 *   phase 2  thread 0 again
 *   phase 3  thread 1, for the first time   reserved to base: cancellation
 *   phase 4  thread 1 again
 *   phase 5  thread 0 again                 in the base mode
 *   phase 6  the end
 * The difference of phases 1 and 2, and of 3 and 4, is the cost of `objects` transitions; what
 * acquiring costs without one is not in it, as in the source. So that moving lines between the
 * cores is not in it either, a thread writes to the objects before its turn.
 *
 * In phase 3 the first thread waits or runs (`owner`): stopping a thread that waits needs no answer
 * from it. The source's faster and slower case are whether its context had to be fetched. */
#include "runtime/outcome.h"
#include "runtime/turn.h"

enum { OBJECTS, OWNER };
enum { WAITING, RUNNING };
enum { OBJECTS_MAX = 16384 };
enum { SPECIFIC = 1, RESERVED, CANCELLATION, BASE, BASE_OF_FIRST, END };

static guarded_t objects[OBJECTS_MAX];
static turn_t done; /* of the second thread: 1 when it has cancelled */

static const char *const owners[] = {"waiting", "running", 0};
static runtime_key_t keys[] = {
    [OBJECTS] = {.name = "objects", .low = 1, .high = OBJECTS_MAX},
    [OWNER] = {.name = "owner", .choices = owners},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++)
        lock_object_init(&objects[i].lock);
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

static lock_result_t pass(lock_thread_t *self, uint64_t phase) {
    lock_result_t result = SUCCESS;
    runtime_phase(self, phase);
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        result |= guarded_sync(&objects[i], self, 0);
        lock_safepoint(self);
    }
    return result;
}

static lock_result_t run_first(lock_thread_t *self) {
    take_lines(self);
    lock_result_t result = pass(self, SPECIFIC) | pass(self, RESERVED);
    runtime_barrier(self);
    while (keys[OWNER].value == RUNNING && load_acq_u32(&done.number) == 0)
        lock_safepoint(self);
    runtime_barrier(self);
    take_lines(self);
    result |= pass(self, BASE_OF_FIRST);
    runtime_phase(self, END);
    return result;
}

static lock_result_t run_second(lock_thread_t *self) {
    runtime_barrier(self);
    take_lines(self);
    lock_result_t result = pass(self, CANCELLATION) | pass(self, BASE);
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
