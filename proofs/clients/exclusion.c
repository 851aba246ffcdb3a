/* exclusion: each thread counts a plain variable under the lock, and polls the safepoint. */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    for (unsigned i = 0; i < CLIENT_ROUNDS; i++) {
        section(&object, self);
        lock_safepoint(self);
    }
    end(self);
}

void prove_end(void) { must_be(&object, CLIENT_THREADS * CLIENT_ROUNDS); }
