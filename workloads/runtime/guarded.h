/* An object with a lock and what the lock guards: the self-check of most kernels. */
#ifndef RUNTIME_GUARDED_H
#define RUNTIME_GUARDED_H
#include <stdint.h>

#include "lock.h"
#include "runtime/runtime.h"

/* Header and fields side by side, as in a Java object. One object per cache line. */
typedef struct {
    lock_object_t lock;
    volatile uint64_t counter;    /* sections so far */
    volatile uint32_t holder;     /* a tid, written on entry, checked on exit */
    volatile uint32_t intrusions; /* exits that found another thread's tid */
} __attribute__((aligned(LOCK_LINE))) guarded_t;

/* The body of a critical section, with `turns` iterations of a delay loop. */
static inline void guarded_section(guarded_t *object, const lock_thread_t *self, uint64_t turns) {
    object->holder = self->tid;
    object->counter++;
    runtime_delay(turns);
    if (!LOCK_LIKELY(object->holder == self->tid))
        object->intrusions++;
}

/* A section under the lock. SUCCESS only if acquire and release both succeeded. */
static inline lock_result_t guarded_sync(guarded_t *object, lock_thread_t *self, uint64_t turns) {
    lock_result_t acquired = lock_acquire(&object->lock, self);
    guarded_section(object, self, turns);
    return acquired | lock_release(&object->lock, self);
}

/* After all threads are done. NULL, or which check failed. */
static inline const char *guarded_verify(guarded_t *object, uint64_t sections) {
    if (object->intrusions != 0)
        return "two threads were in one critical section";
    if (object->counter != sections)
        return "the protected counter is wrong";
    if (!lock_is_idle(&object->lock))
        return "the lock is not idle at the end";
    return 0;
}

#endif
