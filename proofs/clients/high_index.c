/*
 * high_index: the lock is inflated, and its monitor has an index above 1023, so that the upper bits
 * of the index are those of the first thread's identifier in a lock word that has one there. That
 * thread does not hold the lock: it may not release it, and enters only when the other has left.
 * With CLIENT_EVEN the index is 1024, which has one bit.
 */
#define MONITOR_POOL_SIZE 1026
#include "client.h"

#ifdef CLIENT_EVEN    /* an index that is a power of two */
enum { USED = 1023 }; /* monitors of the pool, by objects that are not looked at */
#else
enum { USED = 1024 };
#endif

static guarded_t object;
static unsigned held; /* by the second thread, before it runs */

void prove_setup(void) {
    make_threads();
    make_object(&object);
    monitor_table.used = USED;
    for (; !LOCK_IS_FAT(&object.lock); held++)
        acquire(&object, &lock_threads[1]);
}

static void leave(lock_thread_t *self) {
    count(&object);
    for (unsigned i = 0; i < held; i++)
        release(&object, self);
    may_not_release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        may_not_release(&object, self);
        may_not_wait(&object, self);
        section(&object, self);
    } else {
        leave(self);
    }
    end(self);
}

void prove_end(void) { must_be(&object, 2); }
