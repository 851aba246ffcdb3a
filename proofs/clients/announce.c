/*
 * announce: the first thread, of low priority, writes plain data and then, in a section, a volatile
 * variable that the others read without the lock. Who sees it sees the data too, and so the section
 * is not rolled back any more, although the others want the lock.
 */
#include "client.h"

static guarded_t object;
static volatile uint64_t announced;
static uint32_t data;

void prove_setup(void) {
    make_threads();
    lock_set_priority(&lock_threads[0], 1);
    for (unsigned i = 1; i < LOCK_MAX_THREADS; i++)
        lock_set_priority(&lock_threads[i], 5);
    make_object(&object);
}

static void announce(lock_thread_t *self) {
    lock_section_t section = {0};
    data = 1;
    lock_section_begin(&section, &object.lock, self);
    lock_section_write_volatile(self, &announced, 1);
    prove_assert(!lock_section_poll(self), "a section with a volatile write is rolled back");
    lock_section_end(&section, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        announce(self);
    } else {
        if (load_acq_u64(&announced))
            prove_assert(data == 1, "the announced data was not seen");
        section(&object, self);
    }
    end(self);
}

void prove_end(void) { must_be(&object, CLIENT_THREADS - 1); }
