/* stranding: the relaxed lock's race, staged. Thread 0 holds the flat lock; the others inflate it
 * on its behalf and wait. Thread 0 then stores what its release had computed before they came: the
 * monitor is stranded, and each of them must notice that and get in. */
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/monitor.h"
#include "monitor/processor.h"
#include "parts/named_monitor.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

enum { ITERATIONS };

static guarded_t object;
static const char *volatile failure;

static runtime_key_t keys[] = {[ITERATIONS] = {.name = "iterations", .low = 1, .high = 1000},
                               RUNTIME_KEYS_END};

static const char *setup(void) {
    lock_object_init(&object.lock);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Acquires and releases; all contenders come before the release's store. */
static void strand(lock_thread_t *self) {
    lock_acquire(&object.lock, self);
    uint32_t word = object.lock.lock_word;
    runtime_barrier(self);
    while (!(load_acq_u32(&object.lock.lock_word) & NAMED_SHAPE))
        spin_wait(self);
    monitor_t *monitor = named_monitor(object.lock.lock_word);
    /* All but the responsible thread, which inflated, queue. */
    for (unsigned queued = 0; queued != runtime_threads - 2; runtime_delay(1000)) {
        latch_acquire(&monitor->latch);
        queued = 0;
        for (lock_thread_t *thread = monitor->entry.head; thread; thread = thread->next)
            queued++;
        latch_release(&monitor->latch);
    }
    if (monitor->holder != self->tid)
        failure = "a contender did not inflate on behalf of the holder";
    guarded_section(&object, self, 0);
    store_rel_u32(&object.lock.lock_word, word ^ self->tid_field);
}

static uint64_t run(lock_thread_t *self) {
    for (uint64_t i = 0; i < keys[ITERATIONS].value; i++) {
        if (runtime_index(self) == 0) {
            strand(self);
        } else {
            runtime_barrier(self);
            guarded_sync(&object, self, 0);
        }
        runtime_barrier(self);
        if (runtime_index(self) == 0 && object.lock.lock_word != 0)
            failure = "the lock is not deflated when the contention is over";
        runtime_barrier(self);
    }
    return keys[ITERATIONS].value;
}

static const char *verify(uint64_t pairs) {
    return failure ? failure : guarded_verify(&object, pairs);
}

const workload_t workload = {"stranding", keys, 2, LOCK_MAX_THREADS, setup, prepare, run, verify};
