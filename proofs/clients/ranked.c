/*
 * ranked: two threads queue, one behind the other, for a monitor that the first thread holds. The
 * second to come has the higher priority, so it gets the monitor first; with CLIENT_EQUAL it has
 * the same, and gets it last. The first looks at the queue once each time, as in queue.c.
 */
#include "client.h"

#ifndef CLIENT_EQUAL
#define CLIENT_EQUAL 0
#endif

static guarded_t object;
static volatile uint32_t turn; /* the next thread to come */
static uint32_t served;        /* of the two, guarded by the object's lock */
static bool is_seen;           /* that both were in the queue before the release */

void prove_setup(void) {
    make_threads();
    for (unsigned i = 0; i < LOCK_MAX_THREADS; i++)
        lock_set_priority(&lock_threads[i], i == 2 && !CLIENT_EQUAL ? 5 : 1);
    make_object(&object);
    acquire(&object, &lock_threads[0]);
}

static bool is_queued(uint32_t wanted) {
    monitor_t *monitor = lookup_monitor(&object.lock);
    uint32_t queued = 0;
    latch_acquire(&monitor->latch);
    for (lock_thread_t *thread = monitor->entry.head; thread; thread = thread->next)
        queued++;
    latch_release(&monitor->latch);
    return queued == wanted;
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        bool seen = true;
        for (uint32_t i = 1; i <= 2; i++) {
            store_rel_u32(&turn, i);
            seen = seen && is_queued(i);
        }
        is_seen = seen;
    } else {
        while (load_acq_u32(&turn) < index)
            cpu_relax();
        acquire(&object, self);
        served++;
        prove_assert(!is_seen || (served == index) == CLIENT_EQUAL,
                     "the monitor is not given to the thread of the highest priority");
    }
    release(&object, self);
    end(self);
}

void prove_end(void) { must_be(&object, 0); }
