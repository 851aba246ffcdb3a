/* elision: which functions a program with the lock `elided` has, by its threads. */
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "monitor/mutex.h"
#include "runtime/runtime.h"

static lock_object_t object;
static const char *volatile failure;

static runtime_key_t keys[] = {RUNTIME_KEYS_END};

static const char *setup(void) {
    lock_object_init(&object);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    bool alone = runtime_threads == 1;
    if (lock_release(&object, self) != (alone ? SUCCESS : ILLEGAL_STATE))
        failure = "the functions are not those of so many threads";
    runtime_barrier(self);
    lock_acquire(&object, self);
    if ((object.lock_word & ~MUTEX_WAITERS) != (alone ? 0 : self->tid_field))
        failure = "the lock word is not that of so many threads";
    lock_release(&object, self);
    return 1;
}

static const char *verify(uint64_t pairs) {
    (void)pairs;
    return failure;
}

const workload_t workload = {"elision", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
