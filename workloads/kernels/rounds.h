/* What the kernels rounds and rounds_packed have in common. Before it is included: `objects`, whose
 * members `lock` and `counter` it uses, and `object_sync`, a section of one of them. */
#ifndef KERNELS_ROUNDS_H
#define KERNELS_ROUNDS_H
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

enum { ROUNDS_A_TURN = 3 };

static lock_result_t results[LOCK_MAX_THREADS];
static turn_t turn; /* turns done; T's turn when even */

static const char *setup(void) {
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[0]); /* T */
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Puts the objects into the thread's cache, as a new Java object is, which its creator has zeroed.
 * Without this the first round would measure the first touch of memory. */
static void create_objects(uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        objects[i].counter = 0;
}

static lock_result_t run_round(lock_thread_t *self, uint64_t count) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < count; i++) {
        result |= object_sync(&objects[i], self);
        lock_safepoint(self);
    }
    return result;
}

static uint64_t run(lock_thread_t *self) {
    uint64_t count = KEY(objects);
    uint64_t rounds = KEY(rounds);
    uint64_t pairs = 0;
    if (runtime_index(self) == 0)
        create_objects(count);
    for (uint64_t round = 0; round < rounds; round++) {
        uint32_t mine = (uint32_t)(round / ROUNDS_A_TURN);
        if (mine % 2 != runtime_index(self))
            continue;
        if (round % ROUNDS_A_TURN == 0)
            turn_await(&turn, self, mine);
        runtime_phase(self, round + 1);
        results[runtime_index(self)] |= run_round(self, count);
        pairs += count;
        if (round % ROUNDS_A_TURN == ROUNDS_A_TURN - 1)
            turn_pass(&turn, mine + 1);
    }
    return pairs;
}

/* After all threads are done. NULL, or which check failed. */
static const char *rounds_verify(uint64_t pairs) {
    if (pairs != KEY(objects) * KEY(rounds))
        return "the number of pairs is wrong";
    if (results[0] != SUCCESS || results[1] != SUCCESS)
        return "an acquire or a release did not succeed";
    return 0;
}

#endif
