/*
 * crowd: the first thread holds the lock when three others come for it: whoever is left behind when
 * one of them is woken must be woken too.
 */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
    acquire(&object, &lock_threads[0]);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index != 0)
        acquire(&object, self);
    count(&object);
    release(&object, self);
    end(self);
}

void prove_end(void) { must_be(&object, CLIENT_THREADS); }
