/*
 * structured: synchronized blocks, which release their monitors however they end (Serrano and
 * Grande 2014, section 4.5, Figure 2; section 4.4 for exceptions that are part of normal
 * operation).
 *
 *   test sync    each iteration acquires `locks` monitors, one inside the other, and calls a
 *                function that returns at once
 *   test throw   the same, but the function may throw: it does in every `throw_every`th iteration
 *                (0: never; as many as `iterations`: "once per execution")
 *   test notify  each iteration acquires one monitor and notifies
 *
 * With blocks=lock the lock decides what a block is. With the lock `lifted` (Figure 2: Hop/Lifting)
 * a block is lifted into the handler around the loop, and the blocks of sync and notify cannot
 * throw. With any other lock it is explicit locking (Gcc): an exception is an error code that
 * functions return. With blocks=own_handler every block installs an exception handler, which
 * releases the monitor and throws again (Hop, section 4.1). Every thread has monitors of its own.
 */
#define WORKLOAD_structured
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"
#include "section.h"
#ifndef LOCKCROSS_HANDLER_H
#define LOCKCROSS_STORAGE
#include "monitor/handler.h"
#undef LOCKCROSS_STORAGE
#endif
#ifndef LOCK_LIFTS_BLOCKS
#define LOCK_LIFTS_BLOCKS 0
#endif

/* Before a loop over blocks: in a real program each block has its own code and branches. */
#define EACH_BLOCK_ITS_CODE _Pragma("GCC unroll 8")

typedef struct {
    guarded_t objects[MAX_locks];
    uint64_t turns, caught;
    lock_result_t result;
} __attribute__((aligned(LOCK_LINE))) own_t;

static own_t own_data[LOCK_MAX_THREADS];
static unsigned nested; /* monitors that an iteration acquires */

static const char *setup(void) {
#include "runtime/rules.inc"
    nested = KEY(test) == WORD_notify ? 1 : (unsigned)KEY(locks);
    for (unsigned i = 0; i < runtime_threads; i++) {
        for (unsigned k = 0; k < MAX_locks; k++)
            lock_object_init(&own_data[i].objects[k].lock);
    }
    return 0;
}

static void prepare(lock_thread_t *self) { handler_thread_init(self); }

/* The function called inside the blocks. If it returns: the error code of explicit locking. */
static __attribute__((noinline)) bool call(lock_thread_t *self, bool throws) {
    __asm__ volatile("" ::: "memory");
    if (throws && (LOCK_LIFTS_BLOCKS || KEY(blocks) == WORD_own_handler))
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
    if (KEY(test) == WORD_notify)
        own->result |= lock_notify(&own->objects[0].lock, self);
    else
        call(self, false);
    EACH_BLOCK_ITS_CODE
    for (unsigned k = nested; k-- > 0;)
        own->result |= lock_release_failsafe(&own->objects[k].lock, self);
    return false;
}

/* Blocks that may throw. Whether an exception came as an error code. */
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

/* Blocks with a handler each; `depth` of them are around this one. */
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
        else if (KEY(test) == WORD_notify)
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
    if (KEY(blocks) == WORD_own_handler) {
        own_handler_block(own, self, 0, throws);
        return false;
    }
    return KEY(test) == WORD_throw ? throwing_blocks(own, self, throws)
                                   : failsafe_blocks(own, self);
}

/* Iterations until one throws or all are done: the `try` around the loop. */
static __attribute__((noinline)) void turns_until_caught(own_t *own, lock_thread_t *self) {
    uint64_t iterations = KEY(iterations);
    uint64_t throw_every = KEY(throw_every);
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
    own_t *own = &own_data[runtime_index(self)];
    while (own->turns < KEY(iterations))
        turns_until_caught(own, self);
    outcome_note(self, own->result);
    return own->turns * nested;
}

static const char *verify(uint64_t pairs) {
    uint64_t iterations = KEY(iterations);
    uint64_t throws = KEY(throw_every) ? iterations / KEY(throw_every) : 0;
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (own_data[i].caught != throws)
            return "the number of exceptions is wrong";
        for (unsigned k = 0; k < nested; k++) {
            const char *error = guarded_verify(&own_data[i].objects[k], iterations);
            if (error)
                return error;
        }
    }
    return outcome_verify(pairs, iterations * nested * runtime_threads);
}
