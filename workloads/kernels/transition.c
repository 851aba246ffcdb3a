/* transition: what the transitions of a lock cost that knows its first locker (Kawachiya 2005,
 * 5.5.2, Table 5.5: TransitionTest). Two threads lock each of `objects` objects once per phase:
 *   phase 1  thread 0, for the first time   anonymous to specific
 *   phase 2  thread 0 again
 *   phase 4  thread 1, for the first time   reserved to base: cancellation
 *   phase 5  thread 1 again
 *   phase 7  thread 0 again                 in the base mode
 * Phases 3, 6 and 8 are what lies between and after them. The difference between phases 1 and 2, or
 * 4 and 5, is the cost of `objects` transitions; as in the source, it leaves out what acquiring
 * costs without one. To leave out moving the lines between the cores, too, each thread writes to
 * the objects before its phases. It locks spare objects to warm up.
 *
 * During phase 4 thread 0 waits at a barrier, runs, is parked, or has ended, and then there is no
 * phase 7 (`owner`): only a thread that runs has to answer. In the source the faster and the slower
 * case differ in whether the thread's context had to be fetched. */
#define WORKLOAD_transition
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

enum { SPARE = 16 };
enum { SPECIFIC = 1, CANCELLATION = 4, BASE_OF_FIRST = 7, END };

static guarded_t objects[MAX_objects], spare[2][SPARE];
static turn_t away; /* 1 when thread 0 is about to park or to end */
static turn_t done; /* 1 when thread 1 has cancelled */

static const char *setup(void) {
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[0]);
    for (unsigned i = 0; i < 2 * SPARE; i++)
        lock_object_init_for(&spare[i / SPARE][i % SPARE].lock, &lock_threads[i / SPARE]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Brings the objects into this core's cache, ready to be written, without locking any. */
static void take_lines(lock_thread_t *self) {
    for (uint64_t i = 0; i < KEY(objects); i++) {
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
    return pass(objects, KEY(objects), self);
}

/* Two phases, in which the objects are first new to the thread and then known to it. The passes
 * over spare objects warm up, and give the stores of take_lines time to complete. */
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
    while (KEY(owner) == WORD_running && load_acq_u32(&done.number) == 0)
        lock_safepoint(self);
    turn_pass(&away, 1);
    if (KEY(owner) == WORD_ended)
        return result;
    if (KEY(owner) == WORD_parked)
        park(self);
    runtime_barrier(self);
    take_lines(self);
    result |= run_phase(self, BASE_OF_FIRST);
    runtime_phase(self, END);
    return result;
}

/* Until thread 0 is parked or has ended. */
static void await_absence(lock_thread_t *self) {
    turn_await(&away, self, 1);
    while (load_acq_u32(&lock_threads[0].state) == HANDSHAKE_RUNNING)
        spin_wait(self);
}

static lock_result_t run_second(lock_thread_t *self) {
    runtime_barrier(self);
    if (KEY(owner) == WORD_parked || KEY(owner) == WORD_ended)
        await_absence(self);
    lock_result_t result = run_phases(self, CANCELLATION);
    turn_pass(&done, 1);
    if (KEY(owner) == WORD_parked)
        unpark(&lock_threads[0]);
    if (KEY(owner) != WORD_ended)
        runtime_barrier(self);
    return result;
}

static uint64_t run(lock_thread_t *self) {
    bool first = runtime_index(self) == 0;
    outcome_note(self, first ? run_first(self) : run_second(self));
    return KEY(objects) * (first && KEY(owner) != WORD_ended ? 3 : 2);
}

static const char *verify(uint64_t pairs) {
    uint64_t each = KEY(owner) == WORD_ended ? 4 : 5;
    const char *error = outcome_verify(pairs, KEY(objects) * each);
    for (uint64_t i = 0; !error && i < KEY(objects); i++)
        error = guarded_verify(&objects[i], each);
    return error;
}
