/*
 * two_locks: the first thread holds two locks at once, and holds one while it tries to release the
 * other; the second uses one of them, or with CLIENT_BOTH both, one after the other. Where monitors
 * are few they change objects.
 */
#include "client.h"

#ifndef CLIENT_BOTH
#define CLIENT_BOTH 0
#endif

static guarded_t outer, inner;

void prove_setup(void) {
    make_threads();
    make_object(&outer);
    make_object(&inner);
}

static void hold_both(lock_thread_t *self) {
    acquire(&outer, self);
    may_not_release(&inner, self);
    acquire(&inner, self);
    count(&outer);
    count(&inner);
    release(&inner, self);
    may_not_release(&inner, self);
    count(&outer);
    release(&outer, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        hold_both(self);
    } else {
        section(&inner, self);
        lock_safepoint(self);
        if (CLIENT_BOTH)
            section(&outer, self);
    }
    end(self);
}

void prove_end(void) {
    must_be(&inner, 1 + (CLIENT_THREADS - 1));
    must_be(&outer, 2 + CLIENT_BOTH * (CLIENT_THREADS - 1));
}
