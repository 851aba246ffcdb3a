/*
 * condition: the last thread hands a token to each of the others, which wait for theirs, and
 * notifies them one by one (or, with CLIENT_ALL, all at once). The first of them holds the lock
 * twice while it waits, and still does so afterwards.
 */
#include "client.h"

#ifndef CLIENT_ALL
#define CLIENT_ALL 0
#endif
#define WAITERS (CLIENT_THREADS - 1)

static guarded_t object;
static uint32_t tokens; /* guarded by the object's lock */

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

static void take(lock_thread_t *self, bool twice) {
    acquire(&object, self);
    if (twice)
        acquire(&object, self);
    while (tokens == 0) {
        await(&object, self);
        prove_assert(WAITERS > 1 || tokens != 0, "a wait ended that was not notified");
    }
    tokens = tokens - 1;
    if (twice)
        release(&object, self);
    count(&object);
    release(&object, self);
}

static void give(lock_thread_t *self) {
    acquire(&object, self);
    tokens = WAITERS;
    for (unsigned i = 0; i < (CLIENT_ALL ? 1 : WAITERS); i++)
        succeeds(CLIENT_ALL ? lock_notify_all(&object.lock, self) : lock_notify(&object.lock, self),
                 "a notify by the holder did not succeed");
    count(&object);
    release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == WAITERS)
        give(self);
    else
        take(self, index == 0);
    end(self);
}

void prove_end(void) {
    prove_assert(tokens == 0, "a token was not taken");
    must_be(&object, CLIENT_THREADS);
}
