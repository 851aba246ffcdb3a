/* lock_sequence: sequences of lockers drawn to match a given share of their owners (after Kawachiya
 * 2005, Tables 5.2, 5.6 and 6.2).
 *
 * Object i belongs to thread i mod threads, which creates it and acquires it once before the region
 * of interest. Then `runs` steps with a barrier between: in step k every object is acquired
 * `run_length` times by one thread, its owner when ceil((k+1)*share) > ceil(k*share), else another
 * thread drawn from the seed. No two threads want one object in one step. */
#include "runtime/guarded.h"

enum { OBJECTS, RUNS, RUN_LENGTH, OWNER_SHARE, CRITICAL, THINK };
enum { OBJECTS_MAX = 16384, PARTS = 1000000 };

static guarded_t objects[OBJECTS_MAX];
static lock_result_t results[LOCK_MAX_THREADS];

static runtime_key_t keys[] = {
    [OBJECTS] = {.name = "objects", .low = 1, .high = OBJECTS_MAX},
    [RUNS] = {.name = "runs", .low = 1, .high = UINT32_MAX},
    [RUN_LENGTH] = {.name = "run_length", .low = 1, .high = UINT32_MAX},
    [OWNER_SHARE] = {.name = "owner_share", .high = PARTS},
    [CRITICAL] = {.name = "critical", .high = UINT32_MAX, .optional = true},
    [THINK] = {.name = "think", .high = UINT32_MAX, .optional = true},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    if (runtime_threads < 2 && keys[OWNER_SHARE].value < PARTS)
        return "an owner_share below 1000000 needs two threads or more";
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[i % runtime_threads]);
    return 0;
}

static void prepare(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = runtime_index(self); i < keys[OBJECTS].value; i += runtime_threads)
        result |= guarded_sync(&objects[i], self, 0);
    results[runtime_index(self)] = result;
}

/* ceil(k * share) in whole numbers. */
static uint64_t owned_steps(uint64_t k) {
    return (k * keys[OWNER_SHARE].value + PARTS - 1) / PARTS;
}

/* 32 bits that depend on all bits of x (the finalizer of splitmix64). */
static uint64_t draw(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) >> 32;
}

/* The thread that has object `index` in step `k`, which is not its owner's step. No division: every
 * thread asks for every object. */
static unsigned drawn_thread(uint64_t k, uint64_t index, unsigned owner) {
    uint64_t x = draw(runtime_seed + k * 0x9e3779b97f4a7c15u + (index + 1) * 0xd1342543de82ef95u);
    unsigned thread = owner + 1 + (unsigned)(x * (runtime_threads - 1) >> 32);
    return thread < runtime_threads ? thread : thread - runtime_threads;
}

static lock_result_t run_object(guarded_t *object, lock_thread_t *self) {
    uint64_t critical = keys[CRITICAL].value;
    uint64_t think = keys[THINK].value;
    lock_result_t result = SUCCESS;
    for (uint64_t i = keys[RUN_LENGTH].value; i != 0; i--) {
        result |= guarded_sync(object, self, critical);
        lock_safepoint(self);
        runtime_delay(think);
    }
    return result;
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    uint64_t count = keys[OBJECTS].value;
    uint64_t acquired = 0; /* objects */
    for (uint64_t k = 0; k < keys[RUNS].value; k++) {
        bool owned = owned_steps(k + 1) > owned_steps(k);
        if (k > 0)
            runtime_barrier(self);
        unsigned owner = 0; /* of object i */
        for (uint64_t i = 0; i < count; i++) {
            if (me == (owned ? owner : drawn_thread(k, i, owner))) {
                results[me] |= run_object(&objects[i], self);
                acquired++;
            }
            owner = owner + 1 == runtime_threads ? 0 : owner + 1;
        }
    }
    return acquired * keys[RUN_LENGTH].value;
}

static const char *verify(uint64_t pairs) {
    uint64_t each = keys[RUNS].value * keys[RUN_LENGTH].value;
    if (pairs != keys[OBJECTS].value * each)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (results[i] != SUCCESS)
            return "an acquire or a release did not succeed";
    }
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        const char *error = guarded_verify(&objects[i], each + 1);
        if (error)
            return error;
    }
    return 0;
}

const workload_t workload = {"lock_sequence", keys,    1,   LOCK_MAX_THREADS,
                             setup,           prepare, run, verify};
