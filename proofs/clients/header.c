/*
 * header: the header word that a monitor displaces is still to be had, while the lock is used and
 * afterwards.
 */
#include "client.h"

enum { DATA = 0xbeef0 };

static guarded_t object;

static uint64_t header_data(void) {
#ifdef LOCKCROSS_DIRECT_H
    return direct_information(&object.lock);
#else
    return hot_header_data(&object.lock);
#endif
}

void prove_setup(void) {
    make_threads();
    make_object(&object);
    object.lock.extra[0] = DATA;
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        for (unsigned i = 0; i < 3; i++)
            section(&object, self);
    } else {
        prove_assert(header_data() == DATA, "the header word is lost while the lock is used");
    }
    end(self);
}

void prove_end(void) {
    must_be(&object, 3);
    prove_assert(header_data() == DATA, "the header word is lost");
}
