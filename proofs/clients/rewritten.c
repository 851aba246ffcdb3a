/*
 * rewritten: a section of a low-priority thread writes a place twice, with another in between, and
 * may then be rolled back: the place has its first value again. Nobody sees a section half done.
 */
#include "client.h"

static guarded_t object;
static volatile uint64_t first, second; /* guarded by the object's lock */

void prove_setup(void) {
    make_threads();
    lock_set_priority(&lock_threads[0], 1);
    for (unsigned i = 1; i < LOCK_MAX_THREADS; i++)
        lock_set_priority(&lock_threads[i], 5);
    make_object(&object);
    first = 7;
}

static void write_twice(lock_thread_t *self) {
    lock_section_t section = {0};
    do {
        lock_section_begin(&section, &object.lock, self);
        lock_section_write(self, &first, 1);
        lock_section_write(self, &second, 1);
        lock_section_write(self, &first, 2);
    } while (lock_section_poll(self));
    lock_section_write(self, &first, 3);
    lock_section_end(&section, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        write_twice(self);
    } else {
        acquire(&object, self);
        prove_assert(load_rlx_u64(&first) == (load_rlx_u64(&second) ? 3 : 7),
                     "a section was seen half done");
        release(&object, self);
    }
    end(self);
}

void prove_end(void) {
    prove_assert(first == 3 && second == 1, "a write of a section is lost");
    must_be(&object, 0);
}
