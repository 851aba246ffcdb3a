/*
 * stolen: monitors are so few that each of two threads takes the monitor of the object away that
 * the other uses, when nobody is in it. The first uses both objects, the second one of them; with
 * CLIENT_BOTH it uses both too, in the opposite order.
 */
#include "client.h"

#ifndef CLIENT_BOTH
#define CLIENT_BOTH 0
#endif

static guarded_t objects[2];

void prove_setup(void) {
    make_threads();
    for (unsigned i = 0; i < 2; i++)
        make_object(&objects[i]);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    for (unsigned i = 0; i < CLIENT_ROUNDS; i++) {
        section(&objects[index], self);
        if (index == 0 || CLIENT_BOTH)
            section(&objects[1 - index], self);
    }
    end(self);
}

void prove_end(void) {
    must_be(&objects[0], (1 + CLIENT_BOTH) * CLIENT_ROUNDS);
    must_be(&objects[1], 2 * CLIENT_ROUNDS);
}
