/*
 * Exception handlers of a thread, and the synchronized blocks lifted into them (Serrano and Grande
 * 2014, sections 4.1 to 4.3).
 *
 * Handlers form a chain on the stack; a throw goes to the one installed last. A handler has room
 * for the monitors of the blocks inside it: two in the handler itself (99 % of Hop's blocks need
 * one, 1 % two, none more), further ones in a list of pairs. A throw first releases them all, the
 * last acquired first, and then continues in the handler.
 *
 *   current -> +----------+     +----------+
 *              | previous | --> | previous | --> the thread's outermost, which catches nothing
 *              | context  |     | context  |
 *              | mutex0   |     | ...      |
 *              | mutex1   |     +----------+
 *              | mutexN   | --> pair --> pair --> 0
 *              +----------+
 *
 * Use, in a function that is not inlined into the function that throws:
 *   handler_install(&handler, self);
 *   if (HANDLER_SETJMP(&handler) == 0) { ...; handler_remove(&handler, self); } else { caught }
 *
 * Where the source is silent: pairs come from a free list of the thread instead of a collected
 * heap, and setjmp is the compiler's, which saves what C's does except the signal mask.
 */
#ifndef LOCKCROSS_HANDLER_H
#define LOCKCROSS_HANDLER_H

#include "types.h"

#ifndef HANDLER_PAIRS
#define HANDLER_PAIRS SMALL_IN_MODEL(1024, 1) /* of each thread */
#endif

typedef struct handler_pair {
    lock_object_t *mutex;
    struct handler_pair *next;
} handler_pair_t;

typedef struct handler {
    struct handler *previous;
    void *context[5]; /* of __builtin_setjmp */
    lock_object_t *mutex0, *mutex1;
    handler_pair_t *mutexN;
} handler_t;

/* By thread: the handler that a throw goes to, which is fetched for every block. */
typedef struct {
    handler_t *current;
} __attribute__((aligned(LOCK_LINE))) handler_chain_t;

/* By thread: the end of the chain, and pairs. */
typedef struct {
    handler_t outermost;
    handler_pair_t *free; /* pairs that have been used before */
    unsigned used;        /* pairs of the pool that have ever been used */
    handler_pair_t pool[HANDLER_PAIRS];
} __attribute__((aligned(LOCK_LINE))) handler_pairs_t;

extern handler_chain_t handler_chains[LOCK_MAX_THREADS];
extern handler_pairs_t handler_pairs[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
handler_chain_t handler_chains[LOCK_MAX_THREADS];
handler_pairs_t handler_pairs[LOCK_MAX_THREADS];
#endif

#define HANDLER_SETJMP(handler) __builtin_setjmp((handler)->context)

static inline handler_chain_t *handler_chain(const lock_thread_t *self) {
    return &handler_chains[self->tid - 1];
}

static inline handler_pairs_t *handler_pairs_of(const lock_thread_t *self) {
    return &handler_pairs[self->tid - 1];
}

static inline void handler_thread_init(const lock_thread_t *self) {
    handler_chain(self)->current = &handler_pairs_of(self)->outermost;
}

static inline void handler_install(handler_t *handler, const lock_thread_t *self) {
    handler->previous = handler_chain(self)->current;
    handler->mutex0 = handler->mutex1 = 0;
    handler->mutexN = 0;
    handler_chain(self)->current = handler;
}

static inline void handler_remove(const handler_t *handler, const lock_thread_t *self) {
    handler_chain(self)->current = handler->previous;
}

LOCK_SLOW void handler_push_pair(const lock_thread_t *self, lock_object_t *mutex) {
    handler_t *handler = handler_chain(self)->current;
    handler_pairs_t *pairs = handler_pairs_of(self);
    handler_pair_t *pair = pairs->free;
    if (pair)
        pairs->free = pair->next;
    else if (pairs->used < HANDLER_PAIRS)
        pair = &pairs->pool[pairs->used++];
    else
        lock_fatal("the pairs of an exception handler are exhausted");
    pair->mutex = mutex;
    pair->next = handler->mutexN;
    handler->mutexN = pair;
}

/* Lifts a block on `mutex` into the current handler. */
static inline void handler_push_mutex(const lock_thread_t *self, lock_object_t *mutex) {
    handler_t *handler = handler_chain(self)->current;
    if (LOCK_LIKELY(!handler->mutex0))
        handler->mutex0 = mutex;
    else if (!handler->mutex1)
        handler->mutex1 = mutex;
    else
        handler_push_pair(self, mutex);
}

LOCK_SLOW void handler_pop_pair(const lock_thread_t *self) {
    handler_t *handler = handler_chain(self)->current;
    handler_pairs_t *pairs = handler_pairs_of(self);
    handler_pair_t *pair = handler->mutexN;
    handler->mutexN = pair->next;
    pair->next = pairs->free;
    pairs->free = pair;
}

/* Ends the block that was lifted last, if there is one. */
static inline void handler_pop_mutex(const lock_thread_t *self) {
    handler_t *handler = handler_chain(self)->current;
    if (LOCK_LIKELY(!handler->mutex1))
        handler->mutex0 = 0;
    else if (!handler->mutexN)
        handler->mutex1 = 0;
    else
        handler_pop_pair(self);
}

/* The mutex of the block that was lifted last, or NULL. */
static inline lock_object_t *handler_last_mutex(const handler_t *handler) {
    return handler->mutexN   ? handler->mutexN->mutex
           : handler->mutex1 ? handler->mutex1
                             : handler->mutex0;
}

/* Throws: releases by `release` what was lifted into the current handler, and continues there. */
static __attribute__((noinline, unused, noreturn)) void
handler_throw(lock_thread_t *self, lock_result_t (*release)(lock_object_t *, lock_thread_t *)) {
    handler_t *handler = handler_chain(self)->current;
    if (handler == &handler_pairs_of(self)->outermost)
        lock_fatal("an exception was not caught");
    for (lock_object_t *mutex; (mutex = handler_last_mutex(handler));) {
        handler_pop_mutex(self);
        release(mutex, self);
    }
    handler_remove(handler, self);
    __builtin_longjmp(handler->context, 1);
}

#endif
