/*
 * pinned: a section of a low-priority thread calls native code or, with CLIENT_PLAIN, uses a lock
 * in the plain way, which cannot be begun again; with CLIENT_NESTED it does so in an inner section.
 * From then on it is not rolled back, whoever wants its lock; what it does is done once. With
 * CLIENT_BEFORE the inner section comes behind that.
 */
#include "client.h"

#ifndef CLIENT_PLAIN
#define CLIENT_PLAIN 0
#endif
#ifndef CLIENT_NESTED
#define CLIENT_NESTED 0
#endif
#ifdef CLIENT_BEFORE
#define FIRST(self) do_once(self)
#else
#define FIRST(self) ((void)0)
#endif

static guarded_t outer, inner, plain;
static volatile uint64_t written; /* guarded by the outer lock */

void prove_setup(void) {
    make_threads();
    lock_set_priority(&lock_threads[0], 1);
    for (unsigned i = 1; i < LOCK_MAX_THREADS; i++)
        lock_set_priority(&lock_threads[i], 5);
    make_object(&outer);
    make_object(&inner);
    make_object(&plain);
}

static void do_once(lock_thread_t *self) {
    if (CLIENT_PLAIN)
        section(&plain, self);
    else
        lock_section_native(self);
    prove_assert(!lock_section_poll(self), "a section that cannot be undone is rolled back");
}

static void write(lock_thread_t *self) {
    lock_section_t section = {0}, within = {0};
    lock_section_begin(&section, &outer.lock, self);
    lock_section_write(self, &written, 1);
    FIRST(self);
    if (CLIENT_NESTED)
        lock_section_begin(&within, &inner.lock, self);
    do_once(self);
    if (CLIENT_NESTED)
        lock_section_end(&within, self);
    prove_assert(!lock_section_poll(self), "a section that cannot be undone is rolled back");
    lock_section_write(self, &written, 2);
    lock_section_end(&section, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        write(self);
    } else {
        acquire(&outer, self);
        prove_assert(load_rlx_u64(&written) != 1, "a section was seen half done");
        release(&outer, self);
    }
    end(self);
}

void prove_end(void) {
    prove_assert(written == 2, "a write of a section is lost");
    must_be(&outer, 0);
    must_be(&plain, CLIENT_PLAIN);
}
