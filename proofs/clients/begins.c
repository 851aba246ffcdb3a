/*
 * begins: a new lock begins as its class has shown, and the first thread acquires it twice, with
 * CLIENT_FIRST for the second and the third time, while the others want it. So it is made flat
 * while that thread learns, or is the owner, outside and inside. With CLIENT_RESERVED most locks of
 * the class became reserved, with CLIENT_FLAT too many were cancelled.
 */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
#ifdef CLIENT_RESERVED
    store_rlx_u32(&j9_class.reserved, J9_RESERVED_LEAST);
#elif defined(CLIENT_FLAT)
    store_rlx_u32(&j9_class.cancelled, J9_CANCELLED_LEAST);
#endif
    make_object(&object);
}

static void own(lock_thread_t *self) {
    section(&object, self);
    lock_safepoint(self);
    acquire(&object, self);
    count(&object);
    lock_safepoint(self);
    release(&object, self);
    may_not_release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        own(self);
    else
        section(&object, self);
    end(self);
}

void prove_end(void) { must_be(&object, 2 + (CLIENT_THREADS - 1)); }
