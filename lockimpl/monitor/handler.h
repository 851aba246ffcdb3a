/*
 * Exception handlers of a thread, and the synchronized blocks lifted into them (Serrano and Grande
 * 2014, sections 4.1 to 4.3).
 *
 * Handlers are a chain on the stack; a throw goes to the one installed last. A handler has room for
 * the monitors of the blocks inside it: two in itself (no more was ever seen in 99 % of Hop's
 * blocks, two in 1 %), further ones in a list of pairs. A throw first releases them all, the last
 * acquired first, and then goes on in the handler.
 *
 *   current -> +----------+     +----------+
 *              | previous | --> | previous | --> the thread's outermost, which catches nothing
 *              | context  |     | context  |
 *              | mutex0   |     | ...      |
 *              | mutex1   |     +----------+
 *              | mutexN   | --> pair --> pair --> 0
 *              +----------+
 *
 * Use, in a function that is not inlined into the thrower's:
 *   handler_install(&handler, self);
 *   if (HANDLER_SETJMP(&handler) == 0) { ...; handler_remove(&handler, self); } else { caught }
 *
 * Where the source is silent: pairs come from a free list of the thread instead of a collected
 * heap, and setjmp is the compiler's, which saves what C's does but the signal mask.
 */
#ifndef LOCKCROSS_HANDLER_H
#define LOCKCROSS_HANDLER_H

#define HANDLER_PAIRS 1024 /* of each thread */

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

/* The handlers of one thread; nobody else's business. */
typedef struct {
    handler_t *current;
    handler_pair_t *free; /* pairs that were used before */
    unsigned used;        /* pairs of the pool that ever were */
    handler_t outermost;
    handler_pair_t pool[HANDLER_PAIRS];
} __attribute__((aligned(LOCK_LINE))) handler_thread_t;

extern handler_thread_t handler_threads[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
handler_thread_t handler_threads[LOCK_MAX_THREADS];
#endif

#define HANDLER_SETJMP(handler) __builtin_setjmp((handler)->context)

static inline handler_thread_t *handler_of(const lock_thread_t *self) {
    return &handler_threads[self->tid - 1];
}

static inline void handler_thread_init(const lock_thread_t *self) {
    handler_of(self)->current = &handler_of(self)->outermost;
}

static inline void handler_install(handler_t *handler, const lock_thread_t *self) {
    handler->previous = handler_of(self)->current;
    handler->mutex0 = handler->mutex1 = 0;
    handler->mutexN = 0;
    handler_of(self)->current = handler;
}

static inline void handler_remove(const handler_t *handler, const lock_thread_t *self) {
    handler_of(self)->current = handler->previous;
}

LOCK_SLOW void handler_push_pair(handler_thread_t *thread, lock_object_t *mutex) {
    handler_pair_t *pair = thread->free;
    if (pair)
        thread->free = pair->next;
    else if (thread->used < HANDLER_PAIRS)
        pair = &thread->pool[thread->used++];
    else
        lock_fatal("the pairs of an exception handler are exhausted");
    pair->mutex = mutex;
    pair->next = thread->current->mutexN;
    thread->current->mutexN = pair;
}

/* Lifts a block on `mutex` into the current handler. */
static inline void handler_push_mutex(const lock_thread_t *self, lock_object_t *mutex) {
    handler_thread_t *thread = handler_of(self);
    handler_t *handler = thread->current;
    if (LOCK_LIKELY(!handler->mutex0))
        handler->mutex0 = mutex;
    else if (!handler->mutex1)
        handler->mutex1 = mutex;
    else
        handler_push_pair(thread, mutex);
}

/* The block that was lifted last ends. Its mutex, or NULL if there is none. */
static inline lock_object_t *handler_pop_mutex(const lock_thread_t *self) {
    handler_thread_t *thread = handler_of(self);
    handler_t *handler = thread->current;
    lock_object_t *mutex;
    if (LOCK_LIKELY(!handler->mutex1)) {
        mutex = handler->mutex0;
        handler->mutex0 = 0;
    } else if (!handler->mutexN) {
        mutex = handler->mutex1;
        handler->mutex1 = 0;
    } else {
        handler_pair_t *pair = handler->mutexN;
        mutex = pair->mutex;
        handler->mutexN = pair->next;
        pair->next = thread->free;
        thread->free = pair;
    }
    return mutex;
}

/* Throws: releases what was lifted into the current handler with `release`, and goes on there. */
static __attribute__((noinline, unused, noreturn)) void
handler_throw(lock_thread_t *self, lock_result_t (*release)(lock_object_t *, lock_thread_t *)) {
    handler_t *handler = handler_of(self)->current;
    if (handler == &handler_of(self)->outermost)
        lock_fatal("an exception was not caught");
    while (handler->mutex0)
        release(handler_pop_mutex(self), self);
    handler_remove(handler, self);
    __builtin_longjmp(handler->context, 1);
}

#endif
