/*
 * The one contract of every lock: object header, thread context, acquire, release, wait, notify,
 * notify_all. A program is compiled for one lock, -DLOCKCROSS_LOCK=<name of locks.def>, and one
 * fence kind, -DLOCKCROSS_FENCE=<FENCE_...>. Everything is static inline, so that the fast paths
 * become part of the program; slow paths are functions of their own.
 *
 * Exactly one file of a program defines LOCKCROSS_STORAGE before it includes this header: that one
 * holds the thread contexts and the monitor pool. The program also gives lock_fatal().
 *
 * A lock header locks/<name>.h defines, with the prefix <name>_: acquire, release, wait, notify
 * (which ends up to `limit` waits), is_idle, and the constants initial_word (lock word of a new
 * object), tid_shift (where a thread's identifier stands in the lock word) and misc_mask (bits of
 * the word that belong to others: the lock preserves them). If it has modes it defines
 * LOCK_IS_FAT(obj) (events.h), if it must know of its threads LOCK_ON_THREAD_INIT(self, index),
 * done for each before any thread runs, or of how many processors they run on
 * LOCK_ON_PROCESSORS(count), done once then, and of what section.h offers what it makes use of.
 */
#ifndef LOCKCROSS_LOCK_H
#define LOCKCROSS_LOCK_H

#include "arch/arch.h"

#define LOCK_LINE 128 /* bytes; the longest cache line of the ISAs */
#define LOCK_MAX_THREADS 64

#define LOCK_TEXT_(x) #x
#define LOCK_TEXT(x) LOCK_TEXT_(x)
#define LOCK_JOIN_(x, y) x##y
#define LOCK_JOIN(x, y) LOCK_JOIN_(x, y)
#define LOCK_MEMBER(member) LOCK_JOIN(LOCKCROSS_LOCK, member)

#ifndef LOCKCROSS_LOCK
#error "LOCKCROSS_LOCK must name a lock of locks.def"
#endif

/* What locks.def says of every lock. */
#define LOCK(name, paper_name, source, java, fence_kinds, variants, threads, words, summary)       \
    enum {                                                                                         \
        name##_is_java = java,                                                                     \
        name##_fence_kinds = fence_kinds,                                                          \
        name##_max_threads = threads,                                                              \
        name##_extra_words = words                                                                 \
    };
#include "locks.def"
#undef LOCK

enum { LOCK_IS_JAVA = LOCK_MEMBER(_is_java) };
_Static_assert(LOCK_MEMBER(_fence_kinds) & LOCKCROSS_FENCE,
               "locks.def does not offer this lock with this fence kind");

/* Object header. The flag word stands behind the lock word in one aligned 8 bytes: the fence kind
 * store_forward reads both with one load. What a lock has beyond that is `extra`, zero at first. */
typedef struct {
    volatile uint32_t lock_word;
    volatile uint32_t flag;
    volatile uint64_t extra[LOCK_MEMBER(_extra_words)];
} __attribute__((aligned(8))) lock_object_t;

/* Thread context. Each part that other threads read or write has a line of its own. */
typedef struct lock_thread {
    uint32_t tid;       /* 1..LOCK_MAX_THREADS */
    uint32_t tid_field; /* tid where the lock word has it: no shift on the fast path */
    /* Under the latch of the monitor this thread is queued at. */
    struct lock_thread *next;
#ifdef LOCKCROSS_SCHEDULER
    uint32_t slice; /* processor.h; written by this thread and by the timer of its processor */
    uint32_t priority;
#endif

    /* Parking: set by the waking thread, cleared by this one. */
    __attribute__((aligned(LOCK_LINE))) volatile uint32_t permit;

    /* Handshake (handshake.h): held by the one requester; asked; HANDSHAKE_SAFE or _RUNNING. */
    __attribute__((aligned(LOCK_LINE))) volatile uint32_t request;
    volatile uint32_t state;
    volatile uint32_t requester;
} __attribute__((aligned(LOCK_LINE))) lock_thread_t;

extern lock_thread_t lock_threads[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
lock_thread_t lock_threads[LOCK_MAX_THREADS];
#endif

/* SUCCESS: done. ILLEGAL_STATE: the caller does not hold the lock; nothing was changed. */
typedef enum { SUCCESS = 0, ILLEGAL_STATE = 1 } lock_result_t;

/* Ends the program with a message; given by the program. For exhausted static pools. */
_Noreturn void lock_fatal(const char *message);

#define LOCK_SLOW static __attribute__((noinline, unused))
#define LOCK_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* The result of wait, notify and notify_all of a lock that has none (`java` is 0 in locks.def). */
#define LOCK_WITHOUT_WAIT(name)                                                                    \
    static inline lock_result_t name##_wait(lock_object_t *obj, lock_thread_t *self) {             \
        (void)obj, (void)self;                                                                     \
        return ILLEGAL_STATE;                                                                      \
    }                                                                                              \
    static inline lock_result_t name##_notify(lock_object_t *obj, lock_thread_t *self,             \
                                              uint32_t limit) {                                    \
        (void)limit;                                                                               \
        return name##_wait(obj, self);                                                             \
    }

#include "monitor/handshake.h"
#include "monitor/processor.h"

/* clang-format off */
#define LOCK_HEADER_(x) LOCK_TEXT_(locks/x.h)
/* clang-format on */
#define LOCK_HEADER(x) LOCK_HEADER_(x)

/* clang-format off */
#include LOCK_HEADER(LOCKCROSS_LOCK)
/* clang-format on */

#include "events.h"

/* Makes `self` thread number `index` (from 0): not running yet, so safe for handshakes. */
static inline void lock_thread_init(lock_thread_t *self, unsigned index) {
    self->tid = index + 1;
    self->tid_field = (uint32_t)(index + 1) << LOCK_MEMBER(_tid_shift);
    self->state = HANDSHAKE_SAFE;
#ifdef LOCKCROSS_SCHEDULER
    self->slice = SLICE_RUNNING;
    self->priority = PROCESSOR_PRIORITY_USUAL;
#endif
#ifdef LOCK_ON_THREAD_INIT
    LOCK_ON_THREAD_INIT(self, index);
#endif
}

/* The threads of the program run on `count` processors. Once, before any thread runs. */
static inline void lock_processors_init(unsigned count) {
    (void)count;
#ifdef LOCK_ON_PROCESSORS
    LOCK_ON_PROCESSORS(count);
#endif
}

/* Makes `obj` a new object: held by no thread. */
static inline void lock_object_init(lock_object_t *obj) {
    obj->lock_word = LOCK_MEMBER(_initial_word);
    obj->flag = 0;
    for (int i = 0; i < LOCK_MEMBER(_extra_words); i++)
        obj->extra[i] = 0;
    event_tell_object(obj);
}

/* Makes `obj` a new object that was created by thread `creator`. Most locks do not care. */
static inline void lock_object_init_for(lock_object_t *obj, const lock_thread_t *creator) {
    (void)creator;
    lock_object_init(obj);
#ifdef LOCK_WORD_CREATED_BY
    obj->lock_word = LOCK_WORD_CREATED_BY(creator);
#endif
}

/* Acquires obj's lock, waiting for it if need be; recursively if `self` holds it. */
static inline lock_result_t lock_acquire(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_TOLD(EVENT_ACQUIRE, EVENT_ACQUIRED, _acquire);
}

/* Undoes one acquire. ILLEGAL_STATE if `self` does not hold the lock. */
static inline lock_result_t lock_release(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_TOLD(EVENT_RELEASE, EVENT_RELEASE, _release);
}

/* Releases the lock however often it was acquired, waits for a notification, acquires it as often
 * again. ILLEGAL_STATE if `self` does not hold it, and always for a lock without wait. */
static inline lock_result_t lock_wait(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_TOLD(EVENT_WAIT, EVENT_WAITED, _wait);
}

/* Ends the wait of the thread that has waited longest, if any. Errors as lock_wait. */
static inline lock_result_t lock_notify(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_TOLD(EVENT_NOTIFY, EVENT_NOTIFY, _notify, 1);
}

/* Ends the wait of all waiting threads. Errors as lock_wait. */
static inline lock_result_t lock_notify_all(lock_object_t *obj, lock_thread_t *self) {
    return LOCK_TOLD(EVENT_NOTIFY_ALL, EVENT_NOTIFY_ALL, _notify, LOCK_MAX_THREADS);
}

/* Whether the lock is held and waited for by nobody. Only where no thread is using it. */
static inline bool lock_is_idle(lock_object_t *obj) { return LOCK_MEMBER(_is_idle)(obj); }

/* Where a thread may be stopped by another, and a yield point; to be called often, never inside
 * acquire or release. One load and one branch when nothing is asked (two where processors are
 * shared). */
static inline void lock_safepoint(lock_thread_t *self) {
    handshake_poll(self);
    processor_poll(self);
}

#include "section.h"

#endif
