/* store_load: a litmus test of "store, then load" between two threads that run at the same time.
 * Thread 0 does what the owner of an asymmetric lock and the releaser of a tasuki lock do; thread 1
 * does what their contenders do. On each place they must not both miss the other. */
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "runtime/runtime.h"
#include "types.h"

enum { ITERATIONS };
enum { PLACES = 8192 };

static struct {
    volatile uint32_t word, flag;
    uint32_t missed[2]; /* by thread: it did not see the other */
} __attribute__((aligned(LOCK_LINE))) places[PLACES];
static struct {
    volatile uint32_t at;
} __attribute__((aligned(LOCK_LINE))) position[2];

static runtime_key_t keys[] = {[ITERATIONS] = {.name = "iterations", .low = 1, .high = 1000},
                               RUNTIME_KEYS_END};
static uint32_t violations[2]; /* counted by thread */

static const char *setup(void) { return 0; }
static void prepare(lock_thread_t *self) { (void)self; }

/* Behind a contender's CAS, which orders all but an owner's store that is still to be seen. */
static bool owner_is_missed(const volatile uint32_t *word, bool won) {
#if FENCE_IS_ASYMMETRIC
    process_barrier();
    return won && (load_acq_u32(word) & 0xff) == 0;
#else
    (void)word;
    return won;
#endif
}

static void announce(volatile uint32_t *flag) {
#if FENCE_IS_ASYMMETRIC
    store_rlx_u32(flag, 1);
    process_barrier();
#else
    store_then_fence_u32(flag, 1);
#endif
}

static bool missed(unsigned thread, unsigned i) {
    volatile uint32_t *word = &places[i].word;
    if (i % 2 == 0) /* the acquisition: owner's byte against the CAS of another thread */
        return thread == 0 ? (store_u8_then_load_acq_u32(word, 0, 1) >> 8) == 0
                           : owner_is_missed(word, cas_acq_u32(word, 0, 1u << 20));
    if (thread == 0) /* the release: lock word, then FLC; against FLC, then lock word */
        return store_rel_u32_then_load_next(word, 1) == 0;
    announce(&places[i].flag);
    return load_rlx_u32(word) == 0;
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    uint32_t random = self->tid;
    for (uint64_t turn = 0; turn < keys[ITERATIONS].value; turn++) {
        for (unsigned i = 0; i < PLACES; i++) {
            store_rlx_u32(&position[me].at, i + 1);
            while (load_rlx_u32(&position[1 - me].at) < i + 1)
                cpu_relax();
            random = random * 1103515245 + 12345;
            runtime_delay(random >> 16 & 7);
            places[i].missed[me] = missed(me, i);
        }
        runtime_barrier(self);
        position[me].at = 0;
        for (unsigned i = me; i < PLACES; i += 2) {
            violations[me] += places[i].missed[0] && places[i].missed[1];
            places[i].word = places[i].flag = 0;
        }
        runtime_barrier(self);
    }
    return keys[ITERATIONS].value;
}

static const char *verify(uint64_t pairs) {
    (void)pairs;
    return violations[0] + violations[1] ? "a load was performed before the store in front of it"
                                         : 0;
}

const workload_t workload = {"store_load", keys, 2, 2, setup, prepare, run, verify};
