/* lifting: what the lock `lifted` puts into exception handlers, and what a throw releases. */
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "monitor/handler.h"
#include "runtime/runtime.h"
#include "section.h"

enum { MONITORS = 5 };
static lock_object_t monitors[MONITORS];
static const char *volatile failure;

static void expect(bool condition, const char *what) {
    if (!condition && !failure)
        failure = what;
}

static void expect_idle(unsigned from, unsigned to, const char *what) {
    for (unsigned i = from; i < to; i++)
        expect(lock_is_idle(&monitors[i]), what);
}

static __attribute__((noinline)) void throw_it(lock_thread_t *self) {
    handler_throw(self, lock_release_failsafe);
}

static bool is_empty(const handler_t *handler) {
    return !handler->mutex0 && !handler->mutex1 && !handler->mutexN;
}

/* Two monitors are in the handler itself, further ones in the list, the last one first. */
static __attribute__((noinline)) void cache_and_list(lock_thread_t *self) {
    handler_t handler;
    handler_install(&handler, self);
    for (unsigned i = 0; i < MONITORS; i++)
        lock_acquire(&monitors[i], self);
    expect(handler.mutex0 == &monitors[0] && handler.mutex1 == &monitors[1], "the cache is wrong");
    const handler_pair_t *pair = handler.mutexN;
    for (unsigned i = MONITORS; i-- > 2; pair = pair->next) {
        if (!pair || pair->mutex != &monitors[i]) {
            expect(false, "the list is wrong");
            break;
        }
    }
    for (unsigned i = MONITORS; i-- > 0;)
        expect(lock_release(&monitors[i], self) == SUCCESS, "a release did not succeed");
    expect(is_empty(&handler), "a handler keeps monitors that were released");
    lock_acquire_failsafe(&monitors[0], self);
    expect(is_empty(&handler), "a failsafe block was lifted");
    lock_release_failsafe(&monitors[0], self);
    handler_remove(&handler, self);
}

/* Blocks from monitor `from` on, one of them twice, end in a throw. */
static __attribute__((noinline)) void blocks_that_throw(lock_thread_t *self, unsigned from) {
    for (unsigned i = from; i < MONITORS; i++)
        lock_acquire(&monitors[i], self);
    lock_acquire(&monitors[from], self);
    throw_it(self);
}

/* A throw releases what was lifted into the handler that it goes to, and nothing else. */
static __attribute__((noinline)) void throws(lock_thread_t *self) {
    handler_t first;
    handler_install(&first, self);
    if (HANDLER_SETJMP(&first) != 0) {
        expect_idle(0, MONITORS, "a throw left a monitor held");
        return;
    }
    lock_acquire(&monitors[0], self);
    handler_t second;
    handler_install(&second, self);
    if (HANDLER_SETJMP(&second) == 0)
        blocks_that_throw(self, 1);
    expect_idle(1, MONITORS, "a throw left a monitor held");
    expect(!lock_is_idle(&monitors[0]), "a throw released a block outside its handler");
    throw_it(self);
}

static runtime_key_t keys[] = {RUNTIME_KEYS_END};

static const char *setup(void) {
    for (unsigned i = 0; i < MONITORS; i++)
        lock_object_init(&monitors[i]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    for (unsigned i = 0; i < 3; i++) {
        cache_and_list(self);
        throws(self);
    }
    expect(handler_pairs_of(self)->used == MONITORS - 2, "pairs are not used again");
    expect(handler_chain(self)->current == &handler_pairs_of(self)->outermost,
           "a handler is left over");
    return 1;
}

static const char *verify(uint64_t pairs) {
    (void)pairs;
    return failure;
}

const workload_t workload = {"lifting", keys, 1, 1, setup, prepare, run, verify};
