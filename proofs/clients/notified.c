/*
 * notified: the first thread waits, then the second; the third notifies once, and the first, when
 * it has the lock again, notifies for the second. So the one that has waited longest is the first
 * to go on, and one notification ends one wait. With CLIENT_ALL the third notifies all, and the
 * first still has the lock before the second, unless the lock's header says that it wakes in any
 * order (LOCK_WAKES_IN_ANY_ORDER). Notifications for which nobody waited are not kept.
 */
#include "client.h"

#ifndef CLIENT_ALL
#define CLIENT_ALL 0
#endif

static guarded_t object;
static volatile uint32_t turn;     /* the next thread to come */
static uint32_t notified, resumed; /* guarded by the object's lock */

static void notify(lock_thread_t *self) {
    notified = notified + (CLIENT_ALL ? 2 : 1);
    succeeds(CLIENT_ALL ? lock_notify_all(&object.lock, self) : lock_notify(&object.lock, self),
             "a notify by the holder did not succeed");
}

/* The first thread holds the lock when it begins to run, so nobody else comes before it waits. */
void prove_setup(void) {
    make_threads();
    make_object(&object);
    acquire(&object, &lock_threads[0]);
    notify(&lock_threads[0]);
    notified = 0;
}

static void wait_as(uint32_t place, lock_thread_t *self) {
    store_rel_u32(&turn, place + 1);
    await(&object, self);
#if !(CLIENT_ALL && defined(LOCK_WAKES_IN_ANY_ORDER))
    prove_assert(resumed == place, "not the thread that has waited longest goes on");
#endif
    prove_assert(resumed < notified, "a wait ended that was not notified");
    resumed = resumed + 1;
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    while (load_acq_u32(&turn) < index)
        cpu_relax();
    acquire(&object, self); /* the first holds it twice while it waits, and still does then */
    if (index < 2)
        wait_as(index, self);
    if (index == 2 || (index == 0 && !CLIENT_ALL))
        notify(self);
    count(&object);
    release(&object, self);
    if (index == 0) {
        count(&object);
        release(&object, self);
    }
    end(self);
}

void prove_end(void) { must_be(&object, 4); }
