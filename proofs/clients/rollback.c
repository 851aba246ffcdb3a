/*
 * rollback: a section of a low-priority thread writes two variables, with a point between where it
 * may be rolled back; a thread of high priority wants the lock. Nobody sees one write without the
 * other. With CLIENT_NESTED both writes are in an inner section on a lock of its own: who has seen
 * them there does not find them undone.
 */
#include "client.h"

#ifndef CLIENT_NESTED
#define CLIENT_NESTED 0
#endif

static guarded_t outer, inner;
/* Guarded by the lock of the section that writes them; more than 32 bits, to be undone whole. */
static volatile uint64_t first = 1ull << 32, second = 1ull << 32;

void prove_setup(void) {
    make_threads();
    lock_set_priority(&lock_threads[0], 1);
    for (unsigned i = 1; i < LOCK_MAX_THREADS; i++)
        lock_set_priority(&lock_threads[i], 5);
    make_object(&outer);
    make_object(&inner);
}

static bool write_both(lock_thread_t *self) {
    lock_section_write(self, &first, 1);
    bool again = lock_section_poll(self);
    if (!again)
        lock_section_write(self, &second, 1);
    return again;
}

static void write_plainly(lock_thread_t *self) {
    lock_section_t section = {0};
    do
        lock_section_begin(&section, &outer.lock, self);
    while (write_both(self));
    lock_section_end(&section, self);
}

static void write_nested(lock_thread_t *self) {
    lock_section_t section = {0}, within = {0};
again:
    lock_section_begin(&section, &outer.lock, self);
within_outer:
    lock_section_begin(&within, &inner.lock, self);
    if (write_both(self)) {
        if (lock_section_is_open(&section, self))
            goto within_outer;
        goto again;
    }
    lock_section_end(&within, self);
    if (lock_section_poll(self))
        goto again;
    lock_section_end(&section, self);
}

static void read(lock_thread_t *self) {
    guarded_t *object = CLIENT_NESTED ? &inner : &outer;
    acquire(object, self);
    uint64_t seen = load_rlx_u64(&first);
    prove_assert(load_rlx_u64(&second) == seen, "a section was seen half done");
    release(object, self);
    if (CLIENT_NESTED) {
        acquire(&outer, self);
        prove_assert(seen != 1 || load_rlx_u64(&first) == 1,
                     "a write that was seen has been undone");
        release(&outer, self);
    }
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index != 0)
        read(self);
    else if (CLIENT_NESTED)
        write_nested(self);
    else
        write_plainly(self);
    end(self);
}

void prove_end(void) {
    prove_assert(first == 1 && second == 1, "a write of a section is lost");
    must_be(&outer, 0);
    must_be(&inner, 0);
}
