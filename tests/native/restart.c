/* restart: cancellations of reservations (reservation:suspend, :signal, :predicated) that hit the
 * owner wherever it is. For each object, the last thread acquires and releases it without a pause
 * and without a safepoint until the other threads have had it too. An owner that was in an unsafe
 * region and was not taken out of it has written a reserved word over the cancelled one. */
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "parts/reservation_cancel.h"
#include "parts/reservation_word.h"
#include "parts/tasuki_core.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

enum { ITERATIONS };
enum { OBJECTS_MAX = 4096 };

static guarded_t objects[OBJECTS_MAX];
static uint32_t owned[OBJECTS_MAX]; /* sections of the owner */
static struct {
    volatile uint32_t begun; /* objects that have an owner */
    volatile uint32_t had;   /* acquisitions by others */
} __attribute__((aligned(LOCK_LINE))) state;

/* Contention is announced (FLC) only in the base mode, which the lock never leaves. */
static void expect_sound(guarded_t *object, lock_result_t result) {
    if (result != SUCCESS)
        lock_fatal("an acquire or a release did not succeed");
    if ((load_acq_u32(&object->lock.flag) & FLAG_FLC) && (object->lock.lock_word & RESERVATION_LRV))
        lock_fatal("a cancelled reservation is back");
}

static runtime_key_t keys[] = {[ITERATIONS] = {.name = "iterations", .low = 1, .high = OBJECTS_MAX},
                               RUNTIME_KEYS_END};

/* An owner that notices its resumption only after another owner was resumed too must continue. */
static void resume_late(void) {
#if !LOCKCROSS_VARIANT_SIGNAL
    reservation_signal.number = 1, reservation_signal.resumed = 2;
    lock_signalled(0);
    reservation_signal.number = reservation_signal.answered = reservation_signal.resumed = 0;
#endif
}

static const char *setup(void) {
    resume_late();
    for (uint64_t i = 0; i < keys[ITERATIONS].value; i++)
        lock_object_init(&objects[i].lock);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static void own(guarded_t *object, lock_thread_t *self, uint32_t number) {
    uint32_t sections = 0;
    do {
        expect_sound(object, guarded_sync(object, self, 0));
        if (sections++ == 0)
            store_rel_u32(&state.begun, number + 1);
    } while (load_rlx_u32(&state.had) < (number + 1) * (runtime_threads - 1));
    owned[number] = sections;
}

static void cancel(guarded_t *object, lock_thread_t *self, uint32_t number, uint64_t delay) {
    while (load_acq_u32(&state.begun) <= number)
        cpu_relax();
    runtime_delay(delay);
    expect_sound(object, guarded_sync(object, self, 0));
    fetch_add_acq_rel_u32(&state.had, 1);
}

static uint64_t run(lock_thread_t *self) {
    uint64_t random = runtime_seed * 0x9e3779b97f4a7c15u + self->tid;
    for (uint32_t i = 0; i < keys[ITERATIONS].value; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        if (runtime_index(self) == runtime_threads - 1)
            own(&objects[i], self, i);
        else
            cancel(&objects[i], self, i, random % 1024);
    }
    return keys[ITERATIONS].value;
}

static const char *verify(uint64_t pairs) {
    (void)pairs;
    for (uint64_t i = 0; i < keys[ITERATIONS].value; i++) {
        if (objects[i].lock.lock_word & RESERVATION_LRV)
            return "a cancelled reservation is back";
        const char *error = guarded_verify(&objects[i], owned[i] + runtime_threads - 1);
        if (error)
            return error;
    }
    return 0;
}

const workload_t workload = {"restart", keys, 2, LOCK_MAX_THREADS, setup, prepare, run, verify};
