/*
 * several: the first thread holds three locks at once, of which two share a bucket of the table of
 * monitors, and releases them one by one; what it has released it no longer holds. The second
 * thread uses the first and the last of them.
 */
#define MONITOR_BUCKETS 2
#define THREAD_CACHE_ENTRIES 2
#define RECORDS_EACH 4u
#define HANDLER_PAIRS 2
#include "client.h"

enum { OBJECTS = 3 };

static guarded_t objects[OBJECTS];

void prove_setup(void) {
    make_threads();
    for (unsigned i = 0; i < OBJECTS; i++)
        make_object(&objects[i]);
}

static void hold_all(lock_thread_t *self) {
    for (unsigned i = 0; i < OBJECTS; i++)
        acquire(&objects[i], self);
    for (unsigned i = OBJECTS; i-- > 0;) {
        for (unsigned held = 0; held <= i; held++)
            count(&objects[held]);
        release(&objects[i], self);
        may_not_release(&objects[i], self);
    }
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        hold_all(self);
    } else {
        section(&objects[OBJECTS - 1], self);
        section(&objects[0], self);
    }
    end(self);
}

void prove_end(void) {
    must_be(&objects[0], 4);
    must_be(&objects[1], 2);
    must_be(&objects[2], 2);
}
