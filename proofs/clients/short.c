/*
 * short: sections that declare that they never block, one inside another and one inside a section
 * that may block, beside plain ones.
 */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

static void acquire_short(lock_thread_t *self) {
    succeeds(lock_acquire_short(&object.lock, self), "a short acquire did not succeed");
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        acquire_short(self);
    else
        acquire(&object, self);
    acquire_short(self);
    count(&object);
    release(&object, self);
    release(&object, self);
    may_not_release(&object, self);
    end(self);
}

void prove_end(void) { must_be(&object, CLIENT_THREADS); }
