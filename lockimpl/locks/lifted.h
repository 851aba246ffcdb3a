/*
 * lifted: synchronization lifting of Serrano and Grande 2014, sections 4.2 and 4.3.
 *
 * A synchronized block must release its monitor even if an exception ends it, but it needs no
 * handler of its own for that: on entry it puts its monitor into the handler that is installed
 * anyway, on a normal exit it takes it out again, and a throw releases what is in the handler
 * before it continues there (monitor/handler.h: room for two monitors, then a list). So a block
 * costs three operations more than explicit locking: fetch the current handler, push, pop. Blocks
 * that cannot throw (27 % of Hop's, by the paper's static analysis) leave out push and pop:
 * lock_acquire_failsafe, lock_release_failsafe.
 *
 *    31  30  29                        0     31                 0
 *   +---+---+---------------------------+   +--------------------+
 *   | W | 0 | tid of the holder, or 0   |   | recursions (holder)|   monitor/mutex.h
 *   +---+---+---------------------------+   +--------------------+
 *             lock word                           flag word
 *
 * Blocks nest, so a thread releases in the reverse order of its acquisitions; a nested acquisition
 * of one monitor is a block of its own. Variant `explicit`: the same mutex without handlers, the
 * explicit locking that the paper compares with ("Gcc" in Figure 2; "Hop" is the same with a
 * handler for each block, which the workload `structured` installs).
 *
 * Where the source is silent: its mutexes are those of Posix, here monitor/mutex.h with its
 * condition variables; a monitor stays in the handler while its holder waits.
 */
#ifndef LOCKCROSS_LIFTED_H
#define LOCKCROSS_LIFTED_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handler.h"
#include "monitor/mutex.h"
#include "types.h"

enum { lifted_initial_word = 0, lifted_tid_shift = 0, lifted_misc_mask = 0 };

#define LOCK_ON_THREAD_INIT(self, index) handler_thread_init(self)

#ifdef LOCKCROSS_VARIANT_EXPLICIT
static inline lock_result_t lifted_acquire(lock_object_t *obj, lock_thread_t *self) {
    return mutex_acquire(obj, self);
}

static inline lock_result_t lifted_release(lock_object_t *obj, lock_thread_t *self) {
    return mutex_release(obj, self);
}
#else
#define LOCK_LIFTS_BLOCKS 1
#define LOCK_ACQUIRE_FAILSAFE(obj, self) mutex_acquire(obj, self)
#define LOCK_RELEASE_FAILSAFE(obj, self) mutex_release(obj, self)

static inline lock_result_t lifted_acquire(lock_object_t *obj, lock_thread_t *self) {
    mutex_acquire(obj, self);
    handler_push_mutex(self, obj);
    return SUCCESS;
}

static inline lock_result_t lifted_release(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(mutex_is_mine(load_rlx_u32(&obj->lock_word), self)))
        return ILLEGAL_STATE;
    handler_pop_mutex(self);
    mutex_release_held(obj, self);
    return SUCCESS;
}
#endif

static inline lock_result_t lifted_wait(lock_object_t *obj, lock_thread_t *self) {
    return mutex_wait(obj, self);
}

static inline lock_result_t lifted_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    return mutex_notify(obj, self, limit);
}

static inline bool lifted_is_idle(lock_object_t *obj) { return mutex_is_idle(obj); }

#endif
