/* transitions: a bimodal lock that deflates, seen from inside (tasuki, reservation, asym_tasuki).
 * In each turn one thread holds the lock until contention has been announced (FLC), so that the
 * lock is inflated. When the contention is over it must be flat again, and an asymmetric lock must
 * still have its first owner. */
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/monitor_table.h"
#include "parts/tasuki_core.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

enum { ITERATIONS };
enum { SECTIONS = 8 };

static guarded_t object;
static volatile uint32_t held; /* turns in which the lock was held and announced */
static const char *volatile failure;

static runtime_key_t keys[] = {[ITERATIONS] = {.name = "iterations", .low = 1, .high = 100000},
                               RUNTIME_KEYS_END};

static const char *setup(void) {
    lock_object_init(&object.lock);
    return 0;
}

/* The first owner is the last thread, so that most of what follows is done by others. */
static void prepare(lock_thread_t *self) {
    if (runtime_index(self) == runtime_threads - 1)
        guarded_sync(&object, self, 0);
}

static void check_flat(void) {
    uint32_t word = object.lock.lock_word;
    if (word & SPIN_SHAPE)
        failure = "the lock is not deflated when the contention is over";
#ifdef LOCKCROSS_ASYM_TASUKI_H
    if (word != lock_threads[runtime_threads - 1].tid_field)
        failure = "the lock word is not the first owner's";
#endif
    if (!lock_is_idle(&object.lock))
        failure = "the lock is not idle between turns";
}

/* Holds the lock until another thread has set the FLC bit. */
static void hold_until_contended(lock_thread_t *self, uint32_t turn) {
    lock_acquire(&object.lock, self);
    object.counter++;
    store_rel_u32(&held, turn + 1);
    while (!(load_rlx_u32(&object.lock.flag) & FLAG_FLC))
        lock_safepoint(self);
    lock_release(&object.lock, self);
}

static void await_held(lock_thread_t *self, uint32_t turn) {
    handshake_enter_safe(self);
    while (load_acq_u32(&held) != turn + 1)
        cpu_relax();
    handshake_leave_safe(self);
}

static uint64_t run(lock_thread_t *self) {
    for (uint32_t turn = 0; turn < keys[ITERATIONS].value; turn++) {
        bool holder = runtime_index(self) == turn % runtime_threads;
        if (holder)
            hold_until_contended(self, turn);
        else
            await_held(self, turn);
        for (unsigned i = 0; i < SECTIONS; i++) {
            guarded_sync(&object, self, 40);
            lock_safepoint(self);
        }
        runtime_barrier(self);
        if (holder) {
            guarded_sync(&object, self, 0); /* alone: its release deflates, if need be */
            check_flat();
        }
        runtime_barrier(self);
    }
    return keys[ITERATIONS].value * SECTIONS;
}

static const char *verify(uint64_t pairs) {
    (void)pairs;
    if (failure)
        return failure;
    if (monitor_table.used == 0)
        return "there was no inflation";
    return guarded_verify(&object, keys[ITERATIONS].value * (SECTIONS * runtime_threads + 2) + 1);
}

const workload_t workload = {"transitions", keys, 2, LOCK_MAX_THREADS, setup, prepare, run, verify};
