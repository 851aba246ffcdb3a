/*
 * asked: a section of a low-priority thread writes two variables in an inner section, ends that,
 * and may then be rolled back, since a thread of high priority wants the outer lock. A third looks
 * at the variables under the inner lock meanwhile: it never sees one write without the other.
 */
#include "client.h"

static guarded_t outer, inner;
static volatile uint64_t first, second; /* guarded by the inner lock */

void prove_setup(void) {
    make_threads();
    lock_set_priority(&lock_threads[0], 1);
    for (unsigned i = 1; i < LOCK_MAX_THREADS; i++)
        lock_set_priority(&lock_threads[i], 5);
    make_object(&outer);
    make_object(&inner);
}

static void write_both(lock_thread_t *self) {
    lock_section_t section = {0}, within = {0};
again:
    lock_section_begin(&section, &outer.lock, self);
within_outer:
    lock_section_begin(&within, &inner.lock, self);
    lock_section_write(self, &first, 1);
    if (lock_section_poll(self)) {
        if (lock_section_is_open(&section, self))
            goto within_outer;
        goto again;
    }
    lock_section_write(self, &second, 1);
    lock_section_end(&within, self);
    if (lock_section_poll(self))
        goto again;
    lock_section_end(&section, self);
}

static void look(lock_thread_t *self) {
    acquire(&inner, self);
    prove_assert(load_rlx_u64(&first) == load_rlx_u64(&second), "a section was seen half done");
    release(&inner, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        write_both(self);
    } else if (index == 1) {
        look(self);
    } else {
        acquire(&outer, self);
        release(&outer, self);
    }
    end(self);
}

void prove_end(void) {
    prove_assert(first == 1 && second == 1, "a write of a section is lost");
    must_be(&outer, 0);
    must_be(&inner, 0);
}
