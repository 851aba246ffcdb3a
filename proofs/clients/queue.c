/*
 * queue: two threads queue, one behind the other, for a lock that the first thread holds. That
 * releases it and comes again at once. If it gets in before the thread that it has woken, that
 * thread returns to the head of the queue; so the two get the lock in the order in which they came.
 * The first looks at the queue once each time, since a loop that takes the latch has too many
 * states: an execution in which a thread is not there yet shows nothing.
 */
#include "client.h"

static guarded_t object;
static volatile uint32_t turn; /* the next thread to come */
static uint32_t served;        /* of the two, guarded by the object's lock, as the next */
static bool in_order;          /* the first has seen them in the queue, also after it came again */

void prove_setup(void) {
    make_threads();
    make_object(&object);
    acquire(&object, &lock_threads[0]);
}

static monitor_t *monitor_of(guarded_t *guarded) {
#ifdef LOCKCROSS_NAIVE_H
    return naive_monitor(&guarded->lock);
#else
    return lookup_monitor(&guarded->lock);
#endif
}

/* Whether so many threads are queued for the lock, which the caller holds. */
static bool is_queued(uint32_t wanted) {
    monitor_t *monitor = monitor_of(&object);
    uint32_t queued = 0;
    latch_acquire(&monitor->latch);
    for (lock_thread_t *thread = monitor->entry.head; thread; thread = thread->next)
        queued++;
    latch_release(&monitor->latch);
    return queued == wanted;
}

static void come_again(lock_thread_t *self) {
    bool seen = true;
    for (uint32_t i = 1; i <= 2; i++) {
        store_rel_u32(&turn, i);
        seen = seen && is_queued(i);
    }
    release(&object, self);
    acquire(&object, self);
    in_order = seen && is_queued(2 - served);
#ifdef QUEUED_HANDOVER
    prove_assert(!QUEUED_HANDOVER || !seen || served == 2, "a thread has barged");
#endif
    release(&object, self);
}

static void come_in_turn(lock_thread_t *self, uint32_t index) {
    while (load_acq_u32(&turn) < index)
        cpu_relax();
    acquire(&object, self);
    served++;
    prove_assert(!in_order || served == index, "a thread is served before one that came earlier");
    release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        come_again(self);
    else
        come_in_turn(self, index);
    end(self);
}

void prove_end(void) {
    prove_assert(served == 2, "a thread was not served");
    must_be(&object, 0);
}
