/*
 * depth: the first thread acquires four times and counts between all of its releases, so each of
 * them but the last leaves it inside. The others try to release what they do not hold, and enter.
 */
#define HANDLER_PAIRS 2
#include "client.h"

enum { DEPTH = 4 };

static guarded_t object;

void prove_setup(void) {
    make_threads();
    make_object(&object);
}

static void nest(lock_thread_t *self) {
    for (unsigned i = 0; i < DEPTH; i++)
        acquire(&object, self);
    for (unsigned i = 0; i < DEPTH; i++) {
        count(&object);
        release(&object, self);
    }
    may_not_release(&object, self);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0) {
        nest(self);
    } else {
        may_not_release(&object, self);
        section(&object, self);
    }
    end(self);
}

void prove_end(void) { must_be(&object, DEPTH + (CLIENT_THREADS - 1)); }
