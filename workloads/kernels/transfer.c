/* transfer: what it costs that a cache line moves between cores. The threads pass one line on in
 * turn, `iterations` times each; who has it writes it, by a store (op `store`: it was read just
 * before, so the store upgrades a shared copy) or by a CAS that is tried until it succeeds (op
 * `cas`: the line comes with write permission). Built with lock `null`; its `pairs` are the turns
 * of all threads. */
#include "runtime/runtime.h"

enum { OP, ITERATIONS };
enum { STORE, CAS };

static struct {
    volatile uint32_t turn;
} __attribute__((aligned(LOCK_LINE))) word;

static const char *const ops[] = {"store", "cas", 0};
static runtime_key_t keys[] = {
    [OP] = {.name = "op", .choices = ops},
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX / LOCK_MAX_THREADS},
    RUNTIME_KEYS_END,
};

static const char *setup(void) { return 0; }

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    uint32_t iterations = (uint32_t)keys[ITERATIONS].value;
    uint32_t mine = runtime_index(self);
    for (uint32_t i = 0; i < iterations; i++, mine += runtime_threads) {
        if (keys[OP].value == STORE) {
            while (load_acq_u32(&word.turn) != mine) {
            }
            store_rel_u32(&word.turn, mine + 1);
        } else {
            while (!cas_acq_rel_u32(&word.turn, mine, mine + 1)) {
            }
        }
    }
    return iterations;
}

static const char *verify(uint64_t pairs) { return word.turn == pairs ? 0 : "the word is wrong"; }

const workload_t workload = {"transfer", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
