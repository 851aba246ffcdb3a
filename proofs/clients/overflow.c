/*
 * overflow: the first thread has acquired the lock as often as the flat word can count, and once
 * more now; then it waits for the other to give it a token. Afterwards it holds the lock as often
 * as before.
 */
#include "client.h"

static guarded_t object;
static uint32_t tokens; /* guarded by the object's lock */
static unsigned held;   /* by the first thread, before it runs */

/* As often as leaves the lock flat. */
void prove_setup(void) {
    lock_thread_t *first = &lock_threads[0];
    make_threads();
    make_object(&object);
    while (!LOCK_IS_FAT(&object.lock)) {
        acquire(&object, first);
        held++;
    }
    for (unsigned i = 0; i < held; i++)
        release(&object, first);
    make_object(&object);
    held--;
    for (unsigned i = 0; i < held; i++)
        acquire(&object, first);
}

static void overflow(lock_thread_t *self) {
    acquire(&object, self);
    prove_assert(LOCK_IS_FAT(&object.lock), "the nest count is full, and the lock is flat");
    while (tokens == 0)
        await(&object, self);
    count(&object);
}

static void give(lock_thread_t *self) {
    acquire(&object, self);
    tokens = 1;
    succeeds(lock_notify(&object.lock, self), "a notify by the holder did not succeed");
    count(&object);
    release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        overflow(self);
    else
        give(self);
    end(self);
}

void prove_end(void) {
    lock_thread_t *first = &lock_threads[0];
    for (unsigned i = 0; i <= held; i++)
        release(&object, first);
    may_not_release(&object, first);
    must_be(&object, 2);
}
