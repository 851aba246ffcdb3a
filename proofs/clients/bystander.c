/*
 * bystander: two threads use the lock, while a third, which never holds it, tries what only the
 * holder may do.
 */
#include "client.h"

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index < 2) {
        section(&object, self);
    } else {
        may_not_release(&object, self);
        is_refused(lock_notify_all(&object.lock, self), "a notify_all by a non-holder succeeded");
        is_refused(lock_wait(&object.lock, self), "a wait by a non-holder succeeded");
    }
    end(self);
}

void prove_end(void) { must_be(&object, 2); }
