/*
 * cancellation: the first thread works on its lock, polls inside and outside, and ends; meanwhile
 * the others want the lock. So a reservation is cancelled while its owner is outside, entering,
 * inside, leaving, or has left for good. With CLIENT_FIRST above CLIENT_THREADS the owner is a
 * thread that does not run.
 */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

static void own(lock_thread_t *self) {
    acquire(&object, self);
    count(&object);
    lock_safepoint(self);
    acquire(&object, self);
    count(&object);
    release(&object, self);
    count(&object);
    release(&object, self);
    lock_safepoint(self);
    may_not_release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        own(self);
    } else {
        for (unsigned i = 0; i < CLIENT_ROUNDS; i++)
            section(&object, self);
    }
    end(self);
}

void prove_end(void) { must_be(&object, 3 + (CLIENT_THREADS - 1) * CLIENT_ROUNDS); }
