/* overtaking: a successor of the TO-lock whose claim is lost while it waits. In each turn thread 0
 * is inside, thread 1 becomes its successor, and thread 0 nests until its byte is full: the lock is
 * inflated, which removes thread 1 from the word, and deflated by the last release. Thread 2 then
 * comes first and is inside when thread 1 checks the word again: thread 1 must not enter. Threads
 * share one core, so each step is over before the next begins. */
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

enum { ITERATIONS };
enum { DEEP = 300 };

static guarded_t object;
static volatile bool is_taken; /* thread 2 is inside, or was in this turn */
static const char *volatile failure;

static runtime_key_t keys[] = {[ITERATIONS] = {.name = "iterations", .low = 1, .high = 1000},
                               RUNTIME_KEYS_END};

static const char *setup(void) {
    lock_object_init(&object.lock);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static void overflow(lock_thread_t *self) {
    lock_acquire(&object.lock, self);
    runtime_barrier(self);
    while (!(object.lock.lock_word & TO_SUCCESSOR))
        spin_wait(self);
    for (unsigned depth = 1; depth < DEEP; depth++)
        lock_acquire(&object.lock, self);
    guarded_section(&object, self, 0);
    for (unsigned depth = 0; depth < DEEP; depth++)
        lock_release(&object.lock, self);
    if (object.lock.lock_word != self->tid_field)
        failure = "the lock was not inflated and deflated";
    unpark(&lock_threads[2]); /* runs before those that spin */
}

/* Thread 1 has its chance to look in the middle of this. */
static void overtake(lock_thread_t *self) {
    runtime_barrier(self);
    park(self);
    lock_acquire(&object.lock, self);
    is_taken = true;
    object.holder = self->tid;
    object.counter++;
    spin_wait(self);
    object.intrusions += object.holder != self->tid;
    lock_release(&object.lock, self);
}

static void succeed(lock_thread_t *self) {
    runtime_barrier(self);
    lock_acquire(&object.lock, self);
    if (!is_taken)
        failure = "the successor was not overtaken";
    guarded_section(&object, self, 0);
    lock_release(&object.lock, self);
}

static uint64_t run(lock_thread_t *self) {
    static void (*const roles[])(lock_thread_t *) = {overflow, succeed, overtake};
    for (uint64_t i = 0; i < keys[ITERATIONS].value; i++) {
        roles[runtime_index(self)](self);
        runtime_barrier(self);
        is_taken = false;
        runtime_barrier(self);
    }
    return keys[ITERATIONS].value;
}

static const char *verify(uint64_t pairs) {
    return failure ? failure : guarded_verify(&object, pairs);
}

const workload_t workload = {"overtaking", keys, 3, 3, setup, prepare, run, verify};
