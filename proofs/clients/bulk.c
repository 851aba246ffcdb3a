/*
 * bulk: two locks are biased to the first thread, which holds one of them while the second thread
 * revokes the bias of the other, by an operation on all objects of their class. The second thread
 * then takes the one that may be held, and the first comes back to the other. With CLIENT_REVOKE
 * the class is not biased any more, else it has a new epoch.
 */
#ifdef CLIENT_REVOKE
#define BIASED_BULK_REBIAS 0
#define BIASED_BULK_REVOKE 1
#else
#define BIASED_BULK_REBIAS 1
#define BIASED_BULK_REVOKE 2
#endif
#include "client.h"

static guarded_t held, revoked;

void prove_setup(void) {
    make_threads();
    make_object(&held);
    make_object(&revoked);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        acquire(&held, self);
        count(&held);
        lock_safepoint(self);
        count(&held);
        release(&held, self);
        may_not_release(&held, self);
        lock_safepoint(self);
        section(&revoked, self);
    } else {
        section(&revoked, self);
        lock_safepoint(self);
        section(&held, self);
    }
    end(self);
}

void prove_end(void) {
    must_be(&held, 2 + (CLIENT_THREADS - 1));
    must_be(&revoked, CLIENT_THREADS);
}
