/*
 * recycled: there are fewer monitors than objects that are used, so that a monitor is taken away
 * and reused. Afterwards each free monitor is unused, and the free list is as long as it is
 * counted, and no longer than it may be.
 */
#include "client.h"

static guarded_t objects[3];

/* The last object has a monitor before the threads share out the others. */
void prove_setup(void) {
    make_threads();
    for (unsigned i = 0; i < 3; i++)
        make_object(&objects[i]);
    section(&objects[2], &lock_threads[0]);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    for (unsigned i = index; i < 2; i += CLIENT_THREADS)
        section(&objects[i], self);
    end(self);
}

void prove_end(void) {
    uint32_t free = 0;
    for (monitor_t *monitor = monitor_recycling.free; monitor; monitor = monitor->hash_next) {
        prove_assert(!monitor->object && monitor_is_idle(monitor), "a free monitor is in use");
        free++;
    }
    prove_assert(free == monitor_recycling.free_count, "the free list is not counted");
    prove_assert(free <= MONITOR_FREE_MAX, "the free list is longer than its bound");
    for (unsigned i = 0; i < 3; i++)
        must_be(&objects[i], 1);
}
