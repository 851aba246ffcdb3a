/*
 * alone: what the contract says of a lock that threads use one after the other, as deep as four
 * acquisitions: who holds it, whether it is idle, which calls are refused, and that a notification
 * for which nobody waits does nothing. Nothing runs at once: one thread acts for all.
 */
#define HANDLER_PAIRS 4
#include "client.h"

enum { DEPTH = 4 };

static guarded_t object, other;

static void only_the_holder_may(guarded_t *held, lock_thread_t *self) {
    lock_thread_t *stranger = &lock_threads[self == &lock_threads[0]];
    may_not_release(held, stranger);
    may_not_wait(held, stranger);
    is_refused(lock_notify_all(&held->lock, stranger), "a notify_all by a non-holder succeeded");
}

static void notify_nobody(guarded_t *held, lock_thread_t *self) {
    lock_result_t wanted = LOCK_IS_JAVA ? SUCCESS : ILLEGAL_STATE;
    prove_assert(lock_notify(&held->lock, self) == wanted, "a notify by the holder went wrong");
    prove_assert(lock_notify_all(&held->lock, self) == wanted,
                 "a notify_all by the holder went wrong");
}

static void use(guarded_t *held, lock_thread_t *self) {
    prove_assert(lock_is_idle(&held->lock), "a lock that nobody holds is not idle");
    for (unsigned i = 0; i < DEPTH; i++) {
        acquire(held, self);
        prove_assert(!lock_is_idle(&held->lock), "a lock that is held is idle");
    }
    only_the_holder_may(held, self);
    notify_nobody(held, self);
    for (unsigned i = 0; i < DEPTH; i++) {
        prove_assert(!lock_is_idle(&held->lock), "a lock is idle before its last release");
        only_the_holder_may(held, self);
        release(held, self);
    }
    prove_assert(lock_is_idle(&held->lock), "a lock is not idle after its last release");
    may_not_release(held, self);
    may_not_wait(held, self);
    count(held);
}

void prove_setup(void) {
    make_threads();
    make_object(&object);
    make_object(&other);
}

/* For all threads, which are safe to act for. */
void prove_thread(unsigned index) {
    (void)index;
    use(&object, &lock_threads[0]);
    use(&object, &lock_threads[1]);
    use(&other, &lock_threads[1]);
    acquire(&other, &lock_threads[1]);
    use(&object, &lock_threads[0]);
    may_not_release(&object, &lock_threads[1]);
    use(&object, &lock_threads[1]);
    release(&other, &lock_threads[1]);
}

void prove_end(void) {
    must_be(&object, 4);
    must_be(&other, 1);
}
