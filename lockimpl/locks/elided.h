/*
 * elided: single-thread elision of Serrano and Grande 2014, section 2 (the _IO_acquire_lock of
 * Hop).
 *
 * Acquire and release are calls through pointers. When the program starts they lead to functions
 * that do nothing. A program of one thread keeps these, and its locks cost a computed call. A
 * program of more threads sets the pointers to a real mutex (monitor/mutex.h) "at the very
 * beginning of the execution, before the user code starts to execute": a lock acquired by the empty
 * function would be free for the second thread. So the runtime announces all its threads before the
 * first one runs, and the second of them switches. There is no way back, and no thread can be
 * announced later.
 *
 *   one thread: lock word and flag are not touched; more: those of monitor/mutex.h
 *
 * The empty functions know no holder, so with one thread a release of a lock that is not held
 * succeeds (LOCK_KNOWS_HOLDER). Where the source is silent: which monitor the real functions use.
 * Here it is the mutex that section 3 gives streams of which nothing is known; io_spin.h is that
 * section's lock. Streams offer no wait.
 *
 * Variant `glibc`: what section 2 compares with, flockfile of glibc 2.17. "The Glibc already uses
 * some kind of dynamic reconfiguration": its lock is a function that is called whatever the number
 * of threads, and while the process has one, it does the same without atomics (glibc:
 * sysdeps/unix/sysv/linux/x86_64/lowlevellock.h leaves out the prefix `lock` unless
 * __libc_multiple_threads is set). This lock knows its holder.
 */
#ifndef LOCKCROSS_ELIDED_H
#define LOCKCROSS_ELIDED_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/mutex.h"
#include "parts/without_wait.h"
#include "types.h"

enum { elided_initial_word = 0, elided_tid_shift = 0, elided_misc_mask = 0 };

#if LOCKCROSS_VARIANT_GLIBC
/* On a line of its own, since every operation reads it. */
typedef struct {
    volatile uint32_t has_threads; /* more than one */
} __attribute__((aligned(LOCK_LINE))) elided_process_t;

extern elided_process_t elided_process;
#ifdef LOCKCROSS_STORAGE
elided_process_t elided_process;
#endif

/* Called at the start, for one thread after another. */
#define LOCK_ON_THREAD_INIT(self, index) store_rlx_u32(&elided_process.has_threads, (index) > 0)

LOCK_SLOW lock_result_t elided_acquire(lock_object_t *obj, lock_thread_t *self) {
    if (load_rlx_u32(&elided_process.has_threads))
        return mutex_acquire(obj, self);
    if (!LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == 0))
        return mutex_acquire_slow(obj, self);
    store_rlx_u32(&obj->lock_word, self->tid_field);
    return SUCCESS;
}

LOCK_SLOW lock_result_t elided_release(lock_object_t *obj, lock_thread_t *self) {
    if (load_rlx_u32(&elided_process.has_threads) || load_rlx_u32(&obj->flag) != 0)
        return mutex_release(obj, self);
    if (!LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == self->tid_field))
        return ILLEGAL_STATE;
    order_compiler();
    store_rlx_u32(&obj->lock_word, 0);
    return SUCCESS;
}
#else
typedef lock_result_t elided_function_t(lock_object_t *obj, lock_thread_t *self);

typedef struct {
    elided_function_t *acquire, *release;
    bool real; /* they are not the empty functions */
} __attribute__((aligned(LOCK_LINE))) elided_functions_t;

LOCK_SLOW lock_result_t elided_nothing(lock_object_t *obj, lock_thread_t *self) {
    (void)obj, (void)self;
    return SUCCESS;
}

LOCK_SLOW lock_result_t elided_acquire_mutex(lock_object_t *obj, lock_thread_t *self) {
    return mutex_acquire(obj, self);
}

LOCK_SLOW lock_result_t elided_release_mutex(lock_object_t *obj, lock_thread_t *self) {
    return mutex_release(obj, self);
}

extern elided_functions_t elided_functions;
#ifdef LOCKCROSS_STORAGE
elided_functions_t elided_functions = {elided_nothing, elided_nothing, false};
#endif

/* Thread number `index` is going to run; no thread runs yet. */
static inline void elided_thread_init(unsigned index) {
    if (index == 0)
        return;
    elided_functions.acquire = elided_acquire_mutex;
    elided_functions.release = elided_release_mutex;
    elided_functions.real = true;
}
#define LOCK_ON_THREAD_INIT(self, index) elided_thread_init(index)

#define LOCK_KNOWS_HOLDER (elided_functions.real)

static inline lock_result_t elided_acquire(lock_object_t *obj, lock_thread_t *self) {
    return elided_functions.acquire(obj, self);
}

static inline lock_result_t elided_release(lock_object_t *obj, lock_thread_t *self) {
    return elided_functions.release(obj, self);
}
#endif

LOCK_WITHOUT_WAIT(elided)

static inline bool elided_is_idle(lock_object_t *obj) { return mutex_is_idle(obj); }

#endif
