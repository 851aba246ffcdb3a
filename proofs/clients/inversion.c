/*
 * inversion: a section of a low-priority thread waits for what a thread of high priority does under
 * the same lock. Only because it is rolled back, when that thread asks, does the wait end; a
 * request that is lost makes both wait for ever. What the section has written before is undone by
 * then. With CLIENT_AGAIN the thread has made a section before that could not be rolled back, which
 * says nothing of this one.
 */
#include "client.h"

static guarded_t object;
static volatile uint64_t written; /* guarded by the object's lock */
static volatile uint32_t is_done; /* may be looked at without it */

void prove_setup(void) {
    make_threads();
    lock_set_priority(&lock_threads[0], 1);
    lock_set_priority(&lock_threads[1], 5);
    make_object(&object);
}

#ifdef CLIENT_AGAIN
static guarded_t other;

static void section_before(lock_thread_t *self) {
    lock_section_t section = {0};
    make_object(&other);
    lock_section_begin(&section, &other.lock, self);
    lock_section_native(self);
    lock_section_end(&section, self);
}
#endif

static void await_within(lock_thread_t *self) {
    lock_section_t section = {0};
#ifdef CLIENT_AGAIN
    section_before(self);
#endif
again:
    lock_section_begin(&section, &object.lock, self);
    lock_section_write(self, &written, 1);
    while (load_rlx_u32(&is_done) == 0) {
        if (lock_section_poll(self))
            goto again;
        cpu_relax();
    }
    lock_section_end(&section, self);
}

static void finish(lock_thread_t *self) {
    acquire(&object, self);
    prove_assert(load_rlx_u64(&written) == 0, "a write that was rolled back is seen");
    store_rlx_u32(&is_done, 1);
    release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        await_within(self);
    else
        finish(self);
    end(self);
}

void prove_end(void) {
    prove_assert(written == 1, "a write of a section is lost");
    must_be(&object, 0);
}
