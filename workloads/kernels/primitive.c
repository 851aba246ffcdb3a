/* primitive: what acquiring and releasing costs in each state of a lock (Kawachiya 2005, 5.5.2,
 * Table 5.4: PrimitiveTest). Two threads, of which thread 0 is measured; the other one helps to
 * bring the locks into their state and then waits.
 *
 * The state is given by an object's history, so that every lock can be asked for it:
 *   reserved   thread 0 alone has ever locked it
 *   flat       thread 0 was first, then the other thread: a reservation is cancelled, an owner for
 *              ever still owns it
 *   foreign    the other thread was first, then thread 0: an owner for ever is the other thread
 *   inflated   the other thread has waited on it and was notified (locks with wait only)
 * Level `recursive` holds all objects around the measurement.
 *
 * Phase 1 does `iterations` passes of one pair an object; phase 2 acquires each object once; phase
 * 3 releases each once; phase 4 is the end. What a pair, an acquisition or a release costs is a
 * phase's cycles less those of the null lock, as in the source. Only these pairs are counted. */
#include "runtime/outcome.h"
#include "runtime/turn.h"

enum { OBJECTS, ITERATIONS, STATE, LEVEL };
enum { RESERVED, FLAT, FOREIGN, INFLATED };
enum { OUTERMOST, RECURSIVE };
enum { OBJECTS_MAX = 1024 };
enum { PAIRS = 1, ACQUIRES, RELEASES, END };

static guarded_t objects[OBJECTS_MAX];
static turn_t waits; /* objects that the other thread has waited on, or is about to */

static const char *const states[] = {"reserved", "flat", "foreign", "inflated", 0};
static const char *const levels[] = {"outermost", "recursive", 0};
static runtime_key_t keys[] = {
    [OBJECTS] = {.name = "objects", .low = 1, .high = OBJECTS_MAX},
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX},
    [STATE] = {.name = "state", .choices = states},
    [LEVEL] = {.name = "level", .choices = levels},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    if (keys[STATE].value == INFLATED && !LOCK_IS_JAVA)
        return "state inflated needs a lock with wait";
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[keys[STATE].value == FOREIGN]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* One pair an object. */
static lock_result_t pass(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        result |= guarded_sync(&objects[i], self, 0);
        lock_safepoint(self);
    }
    return result;
}

static lock_result_t acquire_all(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        result |= lock_acquire(&objects[i].lock, self);
        lock_safepoint(self);
    }
    return result;
}

static lock_result_t release_all(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        result |= lock_release(&objects[i].lock, self);
        lock_safepoint(self);
    }
    return result;
}

/* The other thread waits on every object, and says so while it still holds the lock. */
static lock_result_t wait_on_all(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint32_t i = 0; i < keys[OBJECTS].value; i++) {
        result |= lock_acquire(&objects[i].lock, self);
        guarded_section(&objects[i], self, 0);
        turn_pass(&waits, i + 1);
        result |= lock_wait(&objects[i].lock, self);
        result |= lock_release(&objects[i].lock, self);
        lock_safepoint(self);
    }
    return result;
}

static lock_result_t notify_all_waits(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint32_t i = 0; i < keys[OBJECTS].value; i++) {
        turn_await(&waits, self, i + 1);
        result |= lock_acquire(&objects[i].lock, self);
        result |= lock_notify(&objects[i].lock, self);
        result |= lock_release(&objects[i].lock, self);
        lock_safepoint(self);
    }
    return result;
}

/* Both threads: the history that makes the state. */
static lock_result_t make_state(lock_thread_t *self) {
    bool measured = runtime_index(self) == 0;
    if (keys[STATE].value == INFLATED)
        return measured ? notify_all_waits(self) : wait_on_all(self);
    bool first = measured == (keys[STATE].value != FOREIGN);
    lock_result_t result = first ? pass(self) : SUCCESS;
    runtime_barrier(self);
    if (!first && keys[STATE].value != RESERVED)
        result |= pass(self);
    return result;
}

static lock_result_t measure(lock_thread_t *self) {
    lock_result_t result = keys[LEVEL].value == RECURSIVE ? acquire_all(self) : SUCCESS;
    result |= pass(self); /* warms up */
    runtime_phase(self, PAIRS);
    for (uint64_t i = 0; i < keys[ITERATIONS].value; i++)
        result |= pass(self);
    runtime_phase(self, ACQUIRES);
    result |= acquire_all(self);
    runtime_phase(self, RELEASES);
    result |= release_all(self);
    runtime_phase(self, END);
    return keys[LEVEL].value == RECURSIVE ? result | release_all(self) : result;
}

static uint64_t run(lock_thread_t *self) {
    lock_result_t result = make_state(self);
    runtime_barrier(self);
    if (runtime_index(self) == 0)
        result |= measure(self);
    outcome_note(self, result);
    runtime_barrier(self);
    return runtime_index(self) == 0 ? keys[OBJECTS].value * (keys[ITERATIONS].value + 1) : 0;
}

static const char *verify(uint64_t pairs) {
    /* One section of each thread that made the state, and one to warm up. */
    bool both = keys[STATE].value == FLAT || keys[STATE].value == FOREIGN;
    uint64_t sections = keys[ITERATIONS].value + (both ? 3 : 2);
    const char *error = outcome_verify(pairs, keys[OBJECTS].value * (keys[ITERATIONS].value + 1));
    for (uint64_t i = 0; !error && i < keys[OBJECTS].value; i++)
        error = guarded_verify(&objects[i], sections);
    return error;
}

const workload_t workload = {"primitive", keys, 2, 2, setup, prepare, run, verify};
