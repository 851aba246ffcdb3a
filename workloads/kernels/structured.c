/*
 * structured: blocks that release their monitors whatever ends them (Serrano and Grande 2014,
 * section 4.5, Figure 2; 4.4 for exceptions that are no exception).
 *
 *   sync    each turn acquires `locks` monitors, one inside the other, and calls a function that
 *           returns at once
 *   throw   the same, and the function may throw: it does in each `throw_every`th turn (0: never;
 *           as many as iterations: "once per execution")
 *   notify  each turn acquires one monitor and notifies
 *
 * blocks=lock leaves it to the lock what a block is. With lifted (Figure 2: Hop/Lifting) it is
 * lifted into the handler around the loop, and neither sync nor notify can throw. With any other
 * lock it is explicit locking (Gcc): an exception is an error code from function to function.
 * blocks=own_handler installs an exception handler for each block, which releases the monitor and
 * throws again (Hop, section 4.1). Every thread has monitors of its own.
 */
#include "runtime/outcome.h"
#ifndef LOCKCROSS_HANDLER_H
#define LOCKCROSS_STORAGE
#include "monitor/handler.h"
#undef LOCKCROSS_STORAGE
#endif
#ifndef LOCK_LIFTS_BLOCKS
#define LOCK_LIFTS_BLOCKS 0
#endif

enum { ITERATIONS, TEST, BLOCKS, LOCKS, THROW_EVERY };
enum { SYNC, THROW, NOTIFY };
enum { LOCK_BLOCKS, OWN_HANDLER };
enum { LOCKS_MAX = 8 };
/* Before a loop over blocks: in a program each block is code, and branches, of its own. */
#define EACH_BLOCK_ITS_CODE _Pragma("GCC unroll 8")

typedef struct {
    guarded_t objects[LOCKS_MAX];
    uint64_t turns, caught;
    lock_result_t result;
} __attribute__((aligned(LOCK_LINE))) own_t;

static own_t owns[LOCK_MAX_THREADS];
static unsigned nested; /* monitors that a turn acquires */

static const char *const tests[] = {"sync", "throw", "notify", 0};
static const char *const block_kinds[] = {"lock", "own_handler", 0};
static runtime_key_t keys[] = {
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX},
    [TEST] = {.name = "test", .choices = tests},
    [BLOCKS] = {.name = "blocks", .choices = block_kinds, .optional = true},
    [LOCKS] = {.name = "locks", .low = 1, .high = LOCKS_MAX, .optional = true, .value = 2},
    [THROW_EVERY] = {.name = "throw_every", .high = UINT32_MAX, .optional = true},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    if (keys[TEST].value == NOTIFY && !LOCK_IS_JAVA)
        return "test notify needs a lock with wait and notify";
    if (keys[TEST].value != THROW && keys[THROW_EVERY].value != 0)
        return "throw_every is of test throw";
    nested = keys[TEST].value == NOTIFY ? 1 : (unsigned)keys[LOCKS].value;
    for (unsigned i = 0; i < runtime_threads; i++) {
        for (unsigned k = 0; k < LOCKS_MAX; k++)
            lock_object_init(&owns[i].objects[k].lock);
    }
    return 0;
}

static void prepare(lock_thread_t *self) { handler_thread_init(self); }

/* What is called inside the blocks. The error code of explicit locking, if it comes back. */
static __attribute__((noinline)) bool call(lock_thread_t *self, bool throws) {
    __asm__ volatile("" ::: "memory");
    if (throws && (LOCK_LIFTS_BLOCKS || keys[BLOCKS].value == OWN_HANDLER))
        handler_throw(self, lock_release_failsafe);
    return throws;
}

/* Blocks that cannot throw. */
static bool failsafe_blocks(own_t *own, lock_thread_t *self) {
    EACH_BLOCK_ITS_CODE
    for (unsigned k = 0; k < nested; k++) {
        own->result |= lock_acquire_failsafe(&own->objects[k].lock, self);
        guarded_section(&own->objects[k], self, 0);
    }
    if (keys[TEST].value == NOTIFY)
        own->result |= lock_notify(&own->objects[0].lock, self);
    else
        call(self, false);
    EACH_BLOCK_ITS_CODE
    for (unsigned k = nested; k-- > 0;)
        own->result |= lock_release_failsafe(&own->objects[k].lock, self);
    return false;
}

/* Blocks that may throw. Whether an exception has come as an error code. */
static bool throwing_blocks(own_t *own, lock_thread_t *self, bool throws) {
    EACH_BLOCK_ITS_CODE
    for (unsigned k = 0; k < nested; k++) {
        own->result |= lock_acquire(&own->objects[k].lock, self);
        guarded_section(&own->objects[k], self, 0);
    }
    bool error = call(self, throws);
    EACH_BLOCK_ITS_CODE
    for (unsigned k = nested; k-- > 0;)
        own->result |= lock_release(&own->objects[k].lock, self);
    return error;
}

/* Blocks with a handler each; `depth` are outside this one. */
static __attribute__((noinline)) void own_handler_block(own_t *own, lock_thread_t *self,
                                                        unsigned depth, bool throws) {
    guarded_t *object = &own->objects[depth];
    handler_t handler;
    own->result |= lock_acquire(&object->lock, self);
    guarded_section(object, self, 0);
    handler_install(&handler, self);
    if (HANDLER_SETJMP(&handler) == 0) {
        if (depth + 1 < nested)
            own_handler_block(own, self, depth + 1, throws);
        else if (keys[TEST].value == NOTIFY)
            own->result |= lock_notify(&object->lock, self);
        else
            call(self, throws);
        handler_remove(&handler, self);
        own->result |= lock_release(&object->lock, self);
    } else {
        own->result |= lock_release(&object->lock, self);
        handler_throw(self, lock_release_failsafe);
    }
}

static bool turn(own_t *own, lock_thread_t *self, bool throws) {
    if (keys[BLOCKS].value == OWN_HANDLER) {
        own_handler_block(own, self, 0, throws);
        return false;
    }
    return keys[TEST].value == THROW ? throwing_blocks(own, self, throws)
                                     : failsafe_blocks(own, self);
}

/* Turns until one throws, or until they are all done: the `try` around the loop. */
static __attribute__((noinline)) void turns_until_caught(own_t *own, lock_thread_t *self) {
    uint64_t iterations = keys[ITERATIONS].value;
    uint64_t throw_every = keys[THROW_EVERY].value;
    handler_t handler;
    handler_install(&handler, self);
    if (HANDLER_SETJMP(&handler) != 0) {
        own->caught++;
        return;
    }
    uint64_t until_throw = throw_every; /* 0: never */
    bool error = false;
    while (own->turns < iterations && !error) {
        own->turns++;
        error = turn(own, self, --until_throw == 0);
        lock_safepoint(self);
    }
    own->caught += error;
    handler_remove(&handler, self);
}

static uint64_t run(lock_thread_t *self) {
    own_t *own = &owns[runtime_index(self)];
    while (own->turns < keys[ITERATIONS].value)
        turns_until_caught(own, self);
    outcome_note(self, own->result);
    return own->turns * nested;
}

static const char *verify(uint64_t pairs) {
    uint64_t iterations = keys[ITERATIONS].value;
    uint64_t throws = keys[THROW_EVERY].value ? iterations / keys[THROW_EVERY].value : 0;
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (owns[i].caught != throws)
            return "the number of exceptions is wrong";
        for (unsigned k = 0; k < nested; k++) {
            const char *error = guarded_verify(&owns[i].objects[k], iterations);
            if (error)
                return error;
        }
    }
    return outcome_verify(pairs, iterations * nested * runtime_threads);
}

const workload_t workload = {"structured", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
