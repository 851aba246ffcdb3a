/* What the parts of the conformance kernel have in common: operations that must succeed, and those
 * that must not. */
#ifndef KERNELS_CONFORMANCE_CHECKS_H
#define KERNELS_CONFORMANCE_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "registry.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"
#include "safepoint.h"
#include "section.h"

enum { DEEP = 300 }; /* deeper than any nest count */

/* The first failure ends the run, because it may make other threads wait forever. */
static void expect(bool condition, const char *what) {
    if (!condition)
        lock_fatal(what);
}

static uint64_t draw(uint64_t *random) {
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    return *random >> 8;
}

/* Of every four acquisitions one declares that the section is short. */
static void acquire_deep(guarded_t *object, lock_thread_t *self, unsigned depth) {
    for (unsigned i = 0; i < depth; i++) {
        lock_result_t result = (depth + i) % 4 == 3 ? lock_acquire_short(&object->lock, self)
                                                    : lock_acquire(&object->lock, self);
        expect(result == SUCCESS, "an acquire did not succeed");
    }
}

static void release_deep(guarded_t *object, lock_thread_t *self, unsigned depth) {
    for (unsigned i = 0; i < depth; i++)
        expect(lock_release(&object->lock, self) == SUCCESS,
               "a release by the holder did not succeed");
}

static void expect_no_release(guarded_t *object, lock_thread_t *self) {
    if (lock_knows_holder())
        expect(lock_release(&object->lock, self) == ILLEGAL_STATE,
               "a release by a non-holder succeeded");
}

/* The wait comes last: it may change what the others would find. */
static void expect_illegal(guarded_t *object, lock_thread_t *self) {
    if (!lock_knows_holder())
        return;
    lock_object_t *lock = &object->lock;
    expect_no_release(object, self);
    expect(lock_notify(lock, self) == ILLEGAL_STATE, "a notify by a non-holder succeeded");
    expect(lock_notify_all(lock, self) == ILLEGAL_STATE, "a notify_all by a non-holder succeeded");
    expect(lock_wait(lock, self) == ILLEGAL_STATE, "a wait by a non-holder succeeded");
}

static void notify(guarded_t *object, lock_thread_t *self) {
    expect(lock_notify(&object->lock, self) == (LOCK_IS_JAVA ? SUCCESS : ILLEGAL_STATE),
           "a notify by the holder went wrong");
}

static void notify_all(guarded_t *object, lock_thread_t *self) {
    expect(lock_notify_all(&object->lock, self) == (LOCK_IS_JAVA ? SUCCESS : ILLEGAL_STATE),
           "a notify_all by the holder went wrong");
}

static void wait(guarded_t *object, lock_thread_t *self) {
    expect(lock_wait(&object->lock, self) == SUCCESS, "a wait by the holder did not succeed");
}

/* Waits until *value is `wanted`, by acquiring the lock again and again. The delays differ, because
 * in a simulator a thread that is woken might otherwise find the lock taken every time. */
static void until(guarded_t *object, lock_thread_t *self, const uint32_t *value, uint32_t wanted) {
    uint64_t turn = 0;
    for (bool reached = false; !reached; turn++) {
        acquire_deep(object, self, 1);
        reached = *value == wanted;
        release_deep(object, self, 1);
        lock_safepoint(self);
        runtime_delay(100 + turn * 37 % 512);
    }
}

#endif
