/*
 * comes_back: the first thread waits; the second notifies it and goes on using the lock, again and
 * again, while the first comes back from its wait.
 */
#include "client.h"

static guarded_t object;
static bool is_given; /* guarded by the object's lock */

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

static void take(lock_thread_t *self) {
    acquire(&object, self);
    while (!is_given)
        await(&object, self);
    count(&object);
    release(&object, self);
}

static void give(lock_thread_t *self) {
    acquire(&object, self);
    is_given = true;
    succeeds(lock_notify(&object.lock, self), "a notify by the holder did not succeed");
    release(&object, self);
    section(&object, self);
    section(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        take(self);
    else
        give(self);
    end(self);
}

void prove_end(void) { must_be(&object, 3); }
