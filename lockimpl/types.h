/*
 * What every lock is made of: the object with its header, the context of a thread, the results.
 * Only the size of the header depends on the lock that was chosen (registry.h).
 */
#ifndef LOCKCROSS_TYPES_H
#define LOCKCROSS_TYPES_H

#include <stdint.h>

#include "host.h"
#include "registry.h"

#define LOCK_LINE 128 /* bytes; the longest cache line of the ISAs */

/* Bytes from one object to the next, by which tables tell their addresses apart. A program whose
 * objects share lines says so before it includes this header. */
#ifndef LOCK_OBJECT_SPACING
#define LOCK_OBJECT_SPACING LOCK_LINE
#endif

/* A number that is small for a model checker, so that there are not too many states: the size of a
 * pool, or how often something has to happen. Whoever needs it says both. */
#ifdef LOCKCROSS_MODEL
#define SMALL_IN_MODEL(usual, small) small
#else
#define SMALL_IN_MODEL(usual, small) usual
#endif

/* A program for more threads is compiled with a higher number. */
#ifndef LOCK_MAX_THREADS
#define LOCK_MAX_THREADS SMALL_IN_MODEL(64, 3)
#endif

/* Object header. Lock word and flag word are one aligned block of 8 bytes, since the fence kind
 * store_forward reads both with one load. `extra` holds what a lock needs besides, zero at first.
 */
typedef struct lock_object {
    volatile uint32_t lock_word;
    volatile uint32_t flag;
    volatile uint64_t extra[LOCK_MEMBER(_extra_words)];
} __attribute__((aligned(8))) lock_object_t;

/* Thread context. Each part that other threads read or write has a cache line of its own. */
typedef struct lock_thread {
    uint32_t tid;       /* 1..LOCK_MAX_THREADS */
    uint32_t tid_field; /* tid, shifted to its place in the lock word */
    /* Guarded by the latch of the monitor that this thread is queued at. */
    struct lock_thread *next;
#ifdef LOCKCROSS_SCHEDULER
    uint32_t slice; /* processor.h; written by this thread and by the timer of its processor */
    uint32_t priority;
#endif

    /* Parking: set by the waking thread, cleared by this one. */
    __attribute__((aligned(LOCK_LINE))) volatile uint32_t permit;

    /* Handshake (handshake.h). */
    __attribute__((aligned(LOCK_LINE))) volatile uint32_t request; /* 1: this thread shall stop */
    volatile uint32_t state;                                       /* HANDSHAKE_RUNNING, ... */
    volatile uint32_t requester; /* tid of the only thread that may ask, or 0 */
} __attribute__((aligned(LOCK_LINE))) lock_thread_t;

extern lock_thread_t lock_threads[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
lock_thread_t lock_threads[LOCK_MAX_THREADS];
#endif

/* SUCCESS: done. ILLEGAL_STATE: the caller does not hold the lock; nothing was changed. */
typedef enum { SUCCESS = 0, ILLEGAL_STATE = 1 } lock_result_t;

#define LOCK_SLOW static __attribute__((noinline, unused))
#define LOCK_LIKELY(condition) __builtin_expect(!!(condition), 1)

#endif
