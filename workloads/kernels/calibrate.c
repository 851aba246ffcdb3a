/* calibrate: a loop of `iterations` around one operation, to measure what the operation costs on a
 * machine (docs/interfaces.md, section 7). One thread; its `pairs` are iterations of the loop. The
 * operations are what locks are made of: `cas` acquires and succeeds, `cas_fail` fails, `rmw` is an
 * acquire-release fetch-and-add, `fence` a store and the full fence; `stop`, `park`, `unpark` and
 * `wake` are charges. */
#define WORKLOAD_calibrate
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "runtime/definition.h"

static struct {
    volatile uint32_t value;
} __attribute__((aligned(LOCK_LINE))) word;
static uint64_t passed; /* iterations whose operation did what it should */

static const char *setup(void) { return 0; }

/* The core owns the line before the region of interest. */
static void prepare(lock_thread_t *self) {
    (void)self;
    store_rlx_u32(&word.value, 0);
}

/* A loop for each operation, all of one shape. `i` counts up from 0. */
#define LOOP(operation)                                                                            \
    do {                                                                                           \
        for (uint32_t i = 0; i < iterations; i++) {                                                \
            operation;                                                                             \
            lock_safepoint(self);                                                                  \
        }                                                                                          \
    } while (0)

static uint64_t run(lock_thread_t *self) {
    uint32_t iterations = (uint32_t)KEY(iterations);
    uint64_t right = iterations;
    switch (KEY(op)) {
    case WORD_empty:
        LOOP(order_compiler());
        break;
    case WORD_load:
        LOOP((void)load_rlx_u32(&word.value));
        break;
    case WORD_store:
        LOOP(store_rlx_u32(&word.value, i + 1));
        break;
    case WORD_cas:
        right = 0;
        LOOP(right += cas_acq_u32(&word.value, i, i + 1));
        break;
    case WORD_cas_fail:
        right = 0;
        LOOP(right += !cas_acq_u32(&word.value, i + 1, i));
        break;
    case WORD_rmw:
        LOOP((void)fetch_add_acq_rel_u32(&word.value, 1));
        break;
    case WORD_fence:
        LOOP(store_then_fence_u32(&word.value, i + 1));
        break;
    case WORD_stop:
        LOOP(charge(CHARGE_STOP));
        break;
    case WORD_park:
        LOOP(charge(CHARGE_PARK));
        break;
    case WORD_unpark:
        LOOP(charge(CHARGE_UNPARK));
        break;
    case WORD_wake:
        LOOP(charge(CHARGE_WAKE));
        break;
    }
    passed = right;
    return iterations;
}

static const char *verify(uint64_t pairs) {
    uint64_t op = KEY(op);
    bool writes = op == WORD_store || op == WORD_cas || op == WORD_rmw || op == WORD_fence;
    if (passed != pairs)
        return "an operation did not do what it should";
    return word.value == (writes ? pairs : 0) ? 0 : "the word is wrong";
}
