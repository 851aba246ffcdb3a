/*
 * service: two threads queue, one behind the other, for a lock that the first thread holds. That
 * releases it and comes again at once: it is behind them, and they get the lock in the order in
 * which they came. A thread that has come shows in the lock word.
 */
#include "client.h"

static guarded_t object;
static volatile uint32_t turn; /* the next thread to come */
static uint32_t served;        /* of the two, guarded by the object's lock */

void prove_setup(void) {
    make_threads();
    make_object(&object);
    acquire(&object, &lock_threads[0]);
}

static void come_again(lock_thread_t *self) {
    for (uint32_t i = 1; i <= 2; i++) {
        uint32_t before = load_rlx_u32(&object.lock.lock_word);
        store_rel_u32(&turn, i);
        while (load_rlx_u32(&object.lock.lock_word) == before)
            cpu_relax();
    }
    release(&object, self);
    acquire(&object, self);
    prove_assert(served == 2, "a thread is served before one that came earlier");
    release(&object, self);
}

static void come_in_turn(lock_thread_t *self, uint32_t index) {
    while (load_acq_u32(&turn) < index)
        cpu_relax();
    acquire(&object, self);
    served++;
    prove_assert(served == index, "a thread is served before one that came earlier");
    release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0)
        come_again(self);
    else
        come_in_turn(self, index);
    end(self);
}

void prove_end(void) { must_be(&object, 0); }
