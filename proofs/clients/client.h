/*
 * What the clients of the model checkers have in common. A client is a small program that uses a
 * lock in a way that is worth proving (clients.toml says why); it is compiled for one lock, one
 * variant, one fence kind and one flavour of arch/model.h, and then analysed, not run. It is
 * written to checker/prove.h and to lock.h alone, so it knows neither the checker nor the lock.
 *
 *   CLIENT_THREADS   threads
 *   CLIENT_ROUNDS    how often each does what it does
 *   CLIENT_FIRST     number, from 1, of the thread that has used the lock before, alone: it owns
 *                    it where locks have owners; 0: the lock is new
 *   CLIENT_WORDS     1: for checkers that refuse accesses of different sizes to one place. Objects
 *                    start as the zeros that they are, and nobody looks whether a lock is idle
 */
#ifndef LOCKCROSS_CLIENT_H
#define LOCKCROSS_CLIENT_H

#define LOCKCROSS_STORAGE
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "checker/prove.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "registry.h"
#include "section.h"
#include "types.h"

#ifndef CLIENT_THREADS
#define CLIENT_THREADS 2
#endif
#ifndef CLIENT_ROUNDS
#define CLIENT_ROUNDS 1
#endif
#ifndef CLIENT_FIRST
#define CLIENT_FIRST 0
#endif
#ifndef CLIENT_WORDS
#define CLIENT_WORDS 0
#endif

const unsigned prove_threads = CLIENT_THREADS;

/* A lock and what it guards, which is plain data: two accesses at once are a race. */
typedef struct {
    lock_object_t lock;
    uint32_t value;
} __attribute__((aligned(LOCK_LINE))) guarded_t;

#ifdef LOCK_SIGNALS
void lock_signal(const lock_thread_t *thread) {
    (void)thread;
    lock_fatal("there are no signals in a model");
}
#endif

/* Each lock word must be one that the diagram in its lock's header allows. */
#ifdef LOCK_WORD_IS_VALID
static const guarded_t *client_objects[2]; /* that have been made */

#define CLIENT_UNSEEN __attribute__((no_sanitize("thread"))) /* not an access of the program */

CLIENT_UNSEEN void prove_invariant(void) {
    for (unsigned i = 0; i < 2 && client_objects[i]; i++)
        prove_assert(LOCK_WORD_IS_VALID(client_objects[i]->lock.lock_word),
                     "the lock word is one that its diagram does not allow");
}
#endif

static inline void succeeds(lock_result_t result, const char *what) {
    prove_assert(result == SUCCESS, what);
}

static inline void is_refused(lock_result_t result, const char *what) {
    prove_assert(result == ILLEGAL_STATE, what);
}

static inline void acquire(guarded_t *object, lock_thread_t *self) {
    succeeds(lock_acquire(&object->lock, self), "an acquire did not succeed");
}

static inline void release(guarded_t *object, lock_thread_t *self) {
    succeeds(lock_release(&object->lock, self), "a release by the holder did not succeed");
}

static inline void await(guarded_t *object, lock_thread_t *self) {
    succeeds(lock_wait(&object->lock, self), "a wait by the holder did not succeed");
}

/* A write that is lost if another thread is inside. */
static inline void count(guarded_t *object) { object->value = object->value + 1; }

static inline void section(guarded_t *object, lock_thread_t *self) {
    acquire(object, self);
    count(object);
    release(object, self);
}

/* `self` does not hold the lock: only the holder may release it. */
static inline void may_not_release(guarded_t *object, lock_thread_t *self) {
    if (lock_knows_holder())
        is_refused(lock_release(&object->lock, self), "a release by a non-holder succeeded");
}

/* Nor wait or notify. */
static inline void may_not_wait(guarded_t *object, lock_thread_t *self) {
    is_refused(lock_wait(&object->lock, self), "a wait by a non-holder succeeded");
    is_refused(lock_notify(&object->lock, self), "a notify by a non-holder succeeded");
}

/* Before all threads: makes the threads. */
static inline void make_threads(void) {
    for (unsigned i = 0; i < LOCK_MAX_THREADS; i++)
        lock_thread_init(&lock_threads[i], i);
    lock_processors_init(CLIENT_THREADS);
}

/* And an object, created by the first thread, which CLIENT_FIRST has used. */
static inline void make_object(guarded_t *object) {
    if (!CLIENT_WORDS)
        lock_object_init_for(&object->lock, &lock_threads[0]);
    else
        object->lock.lock_word = LOCK_MEMBER(_initial_word);
#ifdef LOCK_WORD_IS_VALID
    client_objects[client_objects[0] != 0] = object;
#endif
    object->lock.lock_word |= 0xa5 & LOCK_MEMBER(_misc_mask);
    if (CLIENT_FIRST) {
        acquire(object, &lock_threads[CLIENT_FIRST - 1]);
        release(object, &lock_threads[CLIENT_FIRST - 1]);
    }
}

/* The context of a thread that begins, as in workloads/runtime. Only locks that stop threads look
 * at the states, so for others there is nothing to leave. */
static inline lock_thread_t *begin(unsigned index) {
    if (LOCK_TRAITS & TRAIT_CANCELS)
        handshake_leave_safe(&lock_threads[index]);
    return &lock_threads[index];
}

static inline void end(lock_thread_t *self) {
    if (LOCK_TRAITS & TRAIT_CANCELS)
        handshake_enter_safe(self);
}

/* After all threads: the object was counted so often, nobody holds its lock or waits. */
static inline void must_be(guarded_t *object, uint32_t value) {
    prove_assert(object->value == value, "an update of the protected data is lost");
    prove_assert(CLIENT_WORDS || lock_is_idle(&object->lock),
                 "the lock is not idle after all threads have ended");
    prove_assert((object->lock.lock_word & 0xa5 & LOCK_MEMBER(_misc_mask)) ==
                     (0xa5 & LOCK_MEMBER(_misc_mask)),
                 "the lock has changed bits of the word that are not its own");
}

#endif
