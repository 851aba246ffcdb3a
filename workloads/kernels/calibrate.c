/* calibrate: `iterations` turns of a loop around one operation, to measure what it costs on a
 * machine (docs/interfaces.md, section 7). One thread; its `pairs` are loop turns. The operations
 * are those the locks are made of: `cas` acquires, `rmw` is an acquire-release fetch-and-add. */
#include "runtime/runtime.h"

enum { OP, ITERATIONS };
enum { EMPTY, LOAD, STORE, CAS, CAS_FAIL, RMW, FENCE, STOP, PARK, UNPARK, WAKE };

static struct {
    volatile uint32_t value;
} __attribute__((aligned(LOCK_LINE))) word;
static uint64_t passed; /* turns whose operation did what it should */

static const char *const ops[] = {"empty", "load", "store", "cas",    "cas_fail", "rmw",
                                  "fence", "stop", "park",  "unpark", "wake",     0};
static runtime_key_t keys[] = {
    [OP] = {.name = "op", .choices = ops},
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX},
    RUNTIME_KEYS_END,
};

static const char *setup(void) { return 0; }

/* The line is the core's own before the region of interest. */
static void prepare(lock_thread_t *self) {
    (void)self;
    store_rlx_u32(&word.value, 0);
}

/* One loop of its own for each operation, all of one shape. `i` counts from 0 upwards. */
#define LOOP(operation)                                                                            \
    do {                                                                                           \
        for (uint32_t i = 0; i < iterations; i++) {                                                \
            operation;                                                                             \
            lock_safepoint(self);                                                                  \
        }                                                                                          \
    } while (0)

static uint64_t run(lock_thread_t *self) {
    uint32_t iterations = (uint32_t)keys[ITERATIONS].value;
    uint64_t right = iterations;
    switch (keys[OP].value) {
    case EMPTY:
        LOOP(order_compiler());
        break;
    case LOAD:
        LOOP((void)load_rlx_u32(&word.value));
        break;
    case STORE:
        LOOP(store_rlx_u32(&word.value, i + 1));
        break;
    case CAS:
        right = 0;
        LOOP(right += cas_acq_u32(&word.value, i, i + 1));
        break;
    case CAS_FAIL:
        right = 0;
        LOOP(right += !cas_acq_u32(&word.value, i + 1, i));
        break;
    case RMW:
        LOOP((void)fetch_add_acq_rel_u32(&word.value, 1));
        break;
    case FENCE:
        LOOP(store_before_all_u32(&word.value, i + 1));
        break;
    case STOP:
        LOOP(charge(CHARGE_STOP));
        break;
    case PARK:
        LOOP(charge(CHARGE_PARK));
        break;
    case UNPARK:
        LOOP(charge(CHARGE_UNPARK));
        break;
    case WAKE:
        LOOP(charge(CHARGE_WAKE));
        break;
    }
    passed = right;
    return iterations;
}

static const char *verify(uint64_t pairs) {
    uint64_t op = keys[OP].value;
    bool writes = op == STORE || op == CAS || op == RMW || op == FENCE;
    if (passed != pairs)
        return "an operation did not do what it should";
    return word.value == (writes ? pairs : 0) ? 0 : "the word is wrong";
}

const workload_t workload = {"calibrate", keys, 1, 1, setup, prepare, run, verify};
