/*
 * The contract of every lock: acquire, release, wait, notify and notify_all on an object. A program
 * is compiled for one lock, -DLOCKCROSS_LOCK=<name of locks.def>, and one fence kind,
 * -DLOCKCROSS_FENCE=<FENCE_...>. Everything is static inline, so that the fast paths become part of
 * the program; slow paths are functions of their own.
 *
 * Exactly one file of a program defines LOCKCROSS_STORAGE before it includes this header: that file
 * holds the thread contexts and the monitor pool. The program also defines what host.h declares.
 *
 * A lock's header locks/<name>.h defines, with the prefix <name>_,
 *   acquire, release, wait      of (obj, self), as the functions below
 *   notify(obj, self, limit)    ends up to `limit` waits
 *   is_idle(obj)                as lock_is_idle
 *   initial_word                the lock word of a new object
 *   tid_shift                   where a thread's identifier stands in the lock word
 *   misc_mask                   bits of the lock word that belong to others: the lock keeps them
 * and, if it needs them,
 *   LOCK_IS_FAT(obj)                    whether the lock word is inflated (events.h)
 *   LOCK_ON_THREAD_INIT(self, index)    runs for each thread before any thread runs
 *   LOCK_ON_OBJECT_INIT(obj)            runs for each new object
 *   LOCK_WAKES_IN_ANY_ORDER             threads that one notify_all has ended the waits of go on in
 *                                       any order, not longest first
 *   LOCK_WORD_CREATED_BY(thread)        the lock word of a new object, if its creator matters
 *   LOCK_SITE, LOCK_ACQUIRE_AT(obj, self, site)
 *                                       instead of acquire: what it keeps of each place in the
 *                                       program that acquires, all zero at first, and how
 *   LOCK_WORD_IS_VALID(word)            whether the diagram of the lock word allows this one
 *   what section.h lets a lock define
 */
#ifndef LOCKCROSS_LOCK_H
#define LOCKCROSS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "monitor/processor.h"
#include "registry.h"
#include "safepoint.h"
#include "types.h"

/* clang-format off */
#define LOCK_HEADER_(x) LOCK_TEXT_(locks/x.h)
/* clang-format on */
#define LOCK_HEADER(x) LOCK_HEADER_(x)

/* clang-format off */
#include LOCK_HEADER(LOCKCROSS_LOCK)
/* clang-format on */

#include "events.h"

/* Makes `self` thread number `index`, from 0. It does not run yet, so it is safe for handshakes. */
static inline void lock_thread_init(lock_thread_t *self, unsigned index) {
    self->tid = index + 1;
    self->tid_field = (uint32_t)(index + 1) << LOCK_MEMBER(_tid_shift);
    self->state = HANDSHAKE_SAFE;
#ifdef LOCKCROSS_SCHEDULER
    self->slice = SLICE_RUNNING;
    self->priority = PROCESSOR_PRIORITY_DEFAULT;
#endif
#ifdef LOCK_ON_THREAD_INIT
    LOCK_ON_THREAD_INIT(self, index);
#endif
}

/* Says that the program's threads run on `count` processors; called once, before any runs. */
static inline void lock_processors_init(unsigned count) {
    if (ARCH_WEAKLY_ORDERED && LOCK_TRAITS & TRAIT_UNORDERED && count > 1)
        lock_fatal(
            "a " LOCK_TEXT(LOCKCROSS_LOCK) " lock without orders is for one processor on this ISA");
}

/* Makes `obj` a new object, which no thread holds. */
static inline void lock_object_init(lock_object_t *obj) {
    obj->lock_word = LOCK_MEMBER(_initial_word);
    obj->flag = 0;
    for (int i = 0; i < LOCK_MEMBER(_extra_words); i++)
        obj->extra[i] = 0;
#ifdef LOCK_ON_OBJECT_INIT
    LOCK_ON_OBJECT_INIT(obj);
#endif
    event_note_object(obj);
}

/* Makes `obj` a new object created by thread `creator`, which matters to few locks. */
static inline void lock_object_init_for(lock_object_t *obj, const lock_thread_t *creator) {
    (void)creator;
    lock_object_init(obj);
#ifdef LOCK_WORD_CREATED_BY
    obj->lock_word = LOCK_WORD_CREATED_BY(creator);
#endif
}

/* Acquires obj's lock, after waiting for it if necessary; recursively if `self` holds it. */
#if defined LOCK_SITE && defined LOCK_ACQUIRE_AT
static inline lock_result_t lock_acquire_at(lock_object_t *obj, lock_thread_t *self,
                                            LOCK_SITE *site) {
    return LOCK_NOTED_AS(LOCK_ACQUIRE_AT(obj, self, site), EVENT_ACQUIRE, EVENT_ACQUIRED);
}
#define lock_acquire(obj, self)                                                                    \
    (__extension__({                                                                               \
        static LOCK_SITE lock_site;                                                                \
        lock_acquire_at(obj, self, &lock_site);                                                    \
    }))
#else
static inline lock_result_t lock_acquire(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_NOTED(EVENT_ACQUIRE, EVENT_ACQUIRED, _acquire);
}
#endif

/* Undoes one acquire. ILLEGAL_STATE if `self` does not hold the lock. */
static inline lock_result_t lock_release(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_NOTED(EVENT_RELEASE, EVENT_RELEASE, _release);
}

/* Releases the lock however often it was acquired, waits for a notification and acquires it as
 * often again. ILLEGAL_STATE if `self` does not hold it, and always for a lock without wait. */
static inline lock_result_t lock_wait(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_NOTED(EVENT_WAIT, EVENT_WAITED, _wait);
}

/* Ends the wait of the thread that has waited longest, if any. Errors as lock_wait. */
static inline lock_result_t lock_notify(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_NOTED(EVENT_NOTIFY, EVENT_NOTIFY, _notify, 1);
}

/* Ends the wait of all waiting threads. Errors as lock_wait. */
static inline lock_result_t lock_notify_all(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_NOTED(EVENT_NOTIFY_ALL, EVENT_NOTIFY_ALL, _notify, LOCK_MAX_THREADS);
}

/* Whether nobody holds the lock or waits for it. To be called only while no thread uses it. */
static inline bool lock_is_idle(lock_object_t *obj) { return LOCK_MEMBER(_is_idle)(obj); }

#endif
