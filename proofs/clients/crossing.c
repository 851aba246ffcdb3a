/*
 * crossing: each of two threads has used one lock before, alone, and now uses that and then the
 * other's. Two owners may cancel each other's reservation at once.
 */
#include "client.h"

static guarded_t objects[2];

void prove_setup(void) {
    make_threads();
    for (unsigned i = 0; i < 2; i++) {
        make_object(&objects[i]);
        acquire(&objects[i], &lock_threads[i]);
        release(&objects[i], &lock_threads[i]);
    }
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    section(&objects[index], self);
    lock_safepoint(self);
    section(&objects[1 - index], self);
    end(self);
}

void prove_end(void) {
    must_be(&objects[0], 2);
    must_be(&objects[1], 2);
}
