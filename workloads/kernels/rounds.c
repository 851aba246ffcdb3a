/* rounds: two threads, T and S, in turns of three rounds each, T T T S S S T T T ...; in a round
 * every object of an array is acquired and released once (Kawachiya 2005, 6.6.1, Figures 6.14 and
 * 6.15). No lock is ever contended. Phase n of the result is round n, from 1; the thread that runs
 * it reports it. */
#include "runtime/guarded.h"

enum { OBJECTS, ROUNDS };
enum { OBJECTS_MAX = 16384, ROUNDS_A_TURN = 3 };

static guarded_t objects[OBJECTS_MAX];
static lock_result_t results[LOCK_MAX_THREADS];
static struct {
    volatile uint32_t number; /* turns done; T's turn when even */
} __attribute__((aligned(LOCK_LINE))) turn;

static runtime_key_t keys[] = {
    [OBJECTS] = {.name = "objects", .low = 1, .high = OBJECTS_MAX},
    [ROUNDS] = {.name = "rounds", .low = 1, .high = 1000000},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[0]); /* T */
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Waits for turn `number`; safe, so that the other thread can cancel reservations meanwhile. */
static void await_turn(lock_thread_t *self, uint32_t number) {
    handshake_enter_safe(self);
    while (load_acq_u32(&turn.number) != number)
        cpu_relax();
    handshake_leave_safe(self);
}

/* As a new Java object is: zeroed by the thread that makes it, and so in its cache. Without this
 * the first round would measure the first touch of memory. */
static void create_objects(uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        objects[i].counter = 0;
}

static lock_result_t run_round(lock_thread_t *self, uint64_t count) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < count; i++) {
        result |= guarded_sync(&objects[i], self, 0);
        lock_safepoint(self);
    }
    return result;
}

static uint64_t run(lock_thread_t *self) {
    uint64_t count = keys[OBJECTS].value;
    uint64_t rounds = keys[ROUNDS].value;
    uint64_t pairs = 0;
    if (runtime_index(self) == 0)
        create_objects(count);
    for (uint64_t round = 0; round < rounds; round++) {
        uint32_t mine = (uint32_t)(round / ROUNDS_A_TURN);
        if (mine % 2 != runtime_index(self))
            continue;
        if (round % ROUNDS_A_TURN == 0)
            await_turn(self, mine);
        runtime_phase(self, round + 1);
        results[runtime_index(self)] |= run_round(self, count);
        pairs += count;
        if (round % ROUNDS_A_TURN == ROUNDS_A_TURN - 1)
            store_rel_u32(&turn.number, mine + 1);
    }
    return pairs;
}

static const char *verify(uint64_t pairs) {
    if (pairs != keys[OBJECTS].value * keys[ROUNDS].value)
        return "the number of pairs is wrong";
    if (results[0] != SUCCESS || results[1] != SUCCESS)
        return "an acquire or a release did not succeed";
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        const char *error = guarded_verify(&objects[i], keys[ROUNDS].value);
        if (error)
            return error;
    }
    return 0;
}

const workload_t workload = {"rounds", keys, 2, 2, setup, prepare, run, verify};
