/*
 * brief: each thread makes one section that declares that it never blocks; with CLIENT_MIXED the
 * last thread makes one that may block.
 */
#include "client.h"

#ifndef CLIENT_MIXED
#define CLIENT_MIXED 0
#endif

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (CLIENT_MIXED && index == CLIENT_THREADS - 1)
        acquire(&object, self);
    else
        succeeds(lock_acquire_short(&object.lock, self), "a short acquire did not succeed");
    count(&object);
    release(&object, self);
    end(self);
}

void prove_end(void) { must_be(&object, CLIENT_THREADS); }
