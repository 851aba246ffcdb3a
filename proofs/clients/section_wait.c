/*
 * section_wait: a section of a low-priority thread writes and waits for a notification, writes
 * again and may then be rolled back, to its wait alone: what was written before it stays, since
 * others have seen it. With CLIENT_NESTED it waits in an inner section, and so neither is rolled
 * back any more.
 */
#include "client.h"

#ifndef CLIENT_NESTED
#define CLIENT_NESTED 0
#endif

static guarded_t object, outer;
static volatile uint64_t before, behind; /* guarded by the object's lock */
static volatile uint32_t has_begun;

void prove_setup(void) {
    make_threads();
    lock_set_priority(&lock_threads[0], 1);
    for (unsigned i = 1; i < LOCK_MAX_THREADS; i++)
        lock_set_priority(&lock_threads[i], 5);
    make_object(&object);
    make_object(&outer);
}

static void wait_within(lock_thread_t *self) {
    lock_section_t around = {0}, section = {0};
    if (CLIENT_NESTED)
        lock_section_begin(&around, &outer.lock, self);
again:
    lock_section_begin(&section, &object.lock, self);
    if (lock_section_waits(&section) == 0) {
        lock_section_write(self, &before, load_rlx_u64(&before) + 1);
        store_rel_u32(&has_begun, 1);
        lock_section_wait(&section, self);
    }
    lock_section_write(self, &behind, load_rlx_u64(&behind) + 1);
    if (lock_section_poll(self)) {
        prove_assert(!CLIENT_NESTED, "a section is rolled back behind the wait of an inner one");
        goto again;
    }
    lock_section_end(&section, self);
    if (CLIENT_NESTED)
        lock_section_end(&around, self);
}

static void notify(lock_thread_t *self) {
    while (load_acq_u32(&has_begun) == 0)
        cpu_relax();
    acquire(&object, self);
    prove_assert(load_rlx_u64(&before) == 1 && load_rlx_u64(&behind) == 0,
                 "a section that waits has lost a write");
    succeeds(lock_notify(&object.lock, self), "a notify by the holder did not succeed");
    release(&object, self);
    acquire(&object, self);
    prove_assert(load_rlx_u64(&before) == 1, "a write that was seen has been undone");
    release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        wait_within(self);
    else
        notify(self);
    end(self);
}

void prove_end(void) {
    prove_assert(before == 1 && behind == 1, "a write of a section is lost or made twice");
    must_be(&object, 0);
    must_be(&outer, 0);
}
