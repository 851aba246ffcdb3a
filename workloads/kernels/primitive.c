/* primitive: what acquiring and releasing costs in each state of a lock (Kawachiya 2005, 5.5.2,
 * Table 5.4: PrimitiveTest). Thread 0 is measured; thread 1 helps to bring the locks into their
 * state and then waits.
 *
 * The state is given by an object's history, so that it means something for every lock:
 *   reserved   only thread 0 has ever locked it
 *   flat       thread 0 locked it first, then thread 1: a reservation is cancelled, and a lock that
 *              is owned forever still belongs to thread 0
 *   foreign    thread 1 locked it first, then thread 0: a lock that is owned forever belongs to
 *              thread 1
 *   inflated   thread 1 has waited on it and was notified (only locks with wait)
 * At level `recursive` thread 0 holds all objects during the measurement.
 *
 * Phase 1 does `iterations` passes of one pair an object, phase 2 acquires each object once, phase
 * 3 releases each once, phase 4 is the end. What a pair, an acquisition or a release costs is the
 * cycles of its phase less those of the same phase with the lock `nop`, as in the source. Only the
 * pairs of these phases are counted. */
#define WORKLOAD_primitive
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

enum { PAIRS = 1, ACQUIRES, RELEASES, END };

static guarded_t objects[MAX_objects];
static turn_t waits; /* objects that thread 1 has waited on or is about to */

static const char *setup(void) {
#include "runtime/rules.inc"
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[KEY(state) == WORD_foreign]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* One pair an object. */
static lock_result_t pass(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < KEY(objects); i++) {
        result |= guarded_sync(&objects[i], self, 0);
        lock_safepoint(self);
    }
    return result;
}

static lock_result_t acquire_all(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < KEY(objects); i++) {
        result |= lock_acquire(&objects[i].lock, self);
        lock_safepoint(self);
    }
    return result;
}

static lock_result_t release_all(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < KEY(objects); i++) {
        result |= lock_release(&objects[i].lock, self);
        lock_safepoint(self);
    }
    return result;
}

/* Thread 1 waits on every object, and announces it while it still holds the lock. */
static lock_result_t wait_on_all(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint32_t i = 0; i < KEY(objects); i++) {
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
    for (uint32_t i = 0; i < KEY(objects); i++) {
        turn_await(&waits, self, i + 1);
        result |= lock_acquire(&objects[i].lock, self);
        result |= lock_notify(&objects[i].lock, self);
        result |= lock_release(&objects[i].lock, self);
        lock_safepoint(self);
    }
    return result;
}

/* Both threads: gives the objects the history of the state. */
static lock_result_t make_state(lock_thread_t *self) {
    bool measured = runtime_index(self) == 0;
    if (KEY(state) == WORD_inflated)
        return measured ? notify_all_waits(self) : wait_on_all(self);
    bool first = measured == (KEY(state) != WORD_foreign);
    lock_result_t result = first ? pass(self) : SUCCESS;
    runtime_barrier(self);
    if (!first && KEY(state) != WORD_reserved)
        result |= pass(self);
    return result;
}

static lock_result_t measure(lock_thread_t *self) {
    lock_result_t result = KEY(level) == WORD_recursive ? acquire_all(self) : SUCCESS;
    result |= pass(self); /* warms up */
    runtime_phase(self, PAIRS);
    for (uint64_t i = 0; i < KEY(iterations); i++)
        result |= pass(self);
    runtime_phase(self, ACQUIRES);
    result |= acquire_all(self);
    runtime_phase(self, RELEASES);
    result |= release_all(self);
    runtime_phase(self, END);
    return KEY(level) == WORD_recursive ? result | release_all(self) : result;
}

static uint64_t run(lock_thread_t *self) {
    lock_result_t result = make_state(self);
    runtime_barrier(self);
    if (runtime_index(self) == 0)
        result |= measure(self);
    outcome_note(self, result);
    runtime_barrier(self);
    return runtime_index(self) == 0 ? KEY(objects) * (KEY(iterations) + 1) : 0;
}

static const char *verify(uint64_t pairs) {
    /* One section by each thread that made the state, and one to warm up. */
    bool both = KEY(state) == WORD_flat || KEY(state) == WORD_foreign;
    uint64_t sections = KEY(iterations) + (both ? 3 : 2);
    const char *error = outcome_verify(pairs, KEY(objects) * (KEY(iterations) + 1));
    for (uint64_t i = 0; !error && i < KEY(objects); i++)
        error = guarded_verify(&objects[i], sections);
    return error;
}
