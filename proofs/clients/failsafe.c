/* failsafe: a section that cannot throw, with one inside that can; beside a plain one. */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

static void nest(lock_thread_t *self) {
    succeeds(lock_acquire_failsafe(&object.lock, self), "a failsafe acquire did not succeed");
    count(&object);
    section(&object, self);
    count(&object);
    succeeds(lock_release_failsafe(&object.lock, self), "a failsafe release did not succeed");
    may_not_release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        nest(self);
    else
        section(&object, self);
    end(self);
}

void prove_end(void) { must_be(&object, 3 + (CLIENT_THREADS - 1)); }
