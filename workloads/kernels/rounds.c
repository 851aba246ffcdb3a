/* rounds: two threads, T and S, take turns of three rounds each, T T T S S S T T T ..., `rounds`
 * rounds in all; in a round every object of an array is acquired and released once (Kawachiya 2005,
 * 6.6.1, Figures 6.14 and 6.15). No lock is ever contended. Phase n is round n, from 1, reported by
 * the thread that runs it.
 *
 * Layout apart: an object has a line of its own. Packed: the objects lie side by side as small Java
 * objects do, which take 16 bytes with most locks: a header of three words and what the section
 * counts in. A lock that needs more of the header makes them longer. */
#define WORKLOAD_rounds
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

enum { ROUNDS_A_TURN = 3 };

typedef struct {
    lock_object_t lock;
    uint32_t third_word; /* of the header; no lock's */
    volatile uint32_t counter;
} packed_t;

static guarded_t objects[MAX_objects];
static packed_t packed[MAX_objects];
static lock_result_t results[LOCK_MAX_THREADS];
static turn_t turn; /* turns done; T's turn when even */

static const char *setup(void) {
    for (uint64_t i = 0; i < KEY(objects); i++) {
        bool apart = KEY(layout) == WORD_apart;
        lock_object_init_for(apart ? &objects[i].lock : &packed[i].lock, &lock_threads[0]); /* T */
    }
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Puts the objects into the thread's cache, as a new Java object is, which its creator has zeroed.
 * Without this the first round would measure the first touch of memory. */
static void create_objects(uint64_t count) {
    if (KEY(layout) == WORD_apart) {
        for (uint64_t i = 0; i < count; i++)
            objects[i].counter = 0;
    } else {
        for (uint64_t i = 0; i < count; i++)
            packed[i].counter = 0;
    }
}

static lock_result_t run_round(lock_thread_t *self, uint64_t count) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < count; i++) {
        result |= guarded_sync(&objects[i], self, 0);
        lock_safepoint(self);
    }
    return result;
}

static __attribute__((noinline)) lock_result_t run_round_packed(lock_thread_t *self,
                                                                uint64_t count) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < count; i++) {
        result |= lock_acquire(&packed[i].lock, self);
        packed[i].counter++;
        result |= lock_release(&packed[i].lock, self);
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
        results[runtime_index(self)] |=
            KEY(layout) == WORD_apart ? run_round(self, count) : run_round_packed(self, count);
        pairs += count;
        if (round % ROUNDS_A_TURN == ROUNDS_A_TURN - 1)
            turn_pass(&turn, mine + 1);
    }
    return pairs;
}

static const char *verify_packed(packed_t *object) {
    if (object->counter != (uint32_t)KEY(rounds))
        return "the protected counter is wrong";
    return lock_is_idle(&object->lock) ? 0 : "the lock is not idle at the end";
}

static const char *verify(uint64_t pairs) {
    if (pairs != KEY(objects) * KEY(rounds))
        return "the number of pairs is wrong";
    if (results[0] != SUCCESS || results[1] != SUCCESS)
        return "an acquire or a release did not succeed";
    for (uint64_t i = 0; i < KEY(objects); i++) {
        const char *error = KEY(layout) == WORD_apart ? guarded_verify(&objects[i], KEY(rounds))
                                                      : verify_packed(&packed[i]);
        if (error)
            return error;
    }
    return 0;
}
