/* transfer: what moving a cache line between cores costs. The threads pass one line on in turn,
 * `iterations` times each. A thread that gets the line writes to it, by a store (op `store`: it has
 * just read the line, so the store upgrades a shared copy) or by a CAS that it repeats until it
 * succeeds (op `cas`: the line comes with write permission). Its `pairs` are the turns of all
 * threads. */
#define WORKLOAD_transfer
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "runtime/definition.h"
#include "runtime/runtime.h"

static struct {
    volatile uint32_t turn;
} __attribute__((aligned(LOCK_LINE))) word;

static const char *setup(void) { return 0; }

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    uint32_t iterations = (uint32_t)KEY(iterations);
    uint32_t mine = runtime_index(self);
    for (uint32_t i = 0; i < iterations; i++, mine += runtime_threads) {
        if (KEY(op) == WORD_store) {
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
