/*
 * parked: each thread uses a lock that is reserved for nobody any more, where it may have to park,
 * and then a lock that is reserved for the first thread: who has been parked is not SAFE any more.
 */
#include "client.h"

static guarded_t shared, reserved;

static void use_alone(guarded_t *object, unsigned index) {
    acquire(object, &lock_threads[index]);
    release(object, &lock_threads[index]);
}

void prove_setup(void) {
    make_threads();
    make_object(&shared);
    use_alone(&shared, 0);
    use_alone(&shared, 1);
    make_object(&reserved);
    use_alone(&reserved, 0);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    section(&shared, self);
    section(&reserved, self);
    end(self);
}

void prove_end(void) {
    must_be(&shared, CLIENT_THREADS);
    must_be(&reserved, CLIENT_THREADS);
}
