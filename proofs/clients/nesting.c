/*
 * nesting: the first thread acquires twice and stays inside until the second release; then it holds
 * nothing. The others try what only the holder may do, and then enter.
 */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

static void nest(lock_thread_t *self) {
    acquire(&object, self);
    count(&object);
    acquire(&object, self);
    count(&object);
    lock_safepoint(self);
    prove_assert(lock_notify(&object.lock, self) == (LOCK_IS_JAVA ? SUCCESS : ILLEGAL_STATE),
                 "a notify by the holder went wrong");
    release(&object, self);
    count(&object);
    release(&object, self);
    may_not_release(&object, self);
}

static void misuse(lock_thread_t *self) {
    may_not_release(&object, self);
    may_not_wait(&object, self);
    section(&object, self);
    may_not_release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        nest(self);
    else
        misuse(self);
    end(self);
}

void prove_end(void) { must_be(&object, 3 + (CLIENT_THREADS - 1)); }
