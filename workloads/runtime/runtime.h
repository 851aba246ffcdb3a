/*
 * The runtime of the workload programs, without libc or loader. It reads the arguments, starts the
 * threads on stacks inside the image, marks the region of interest, and prints the result line.
 * Its system calls are write, clone, exit, exit_group and the marker (docs/interfaces.md, sections
 * 4 and 5), and those of signals.h with a lock that interrupts threads.
 *
 * A kernel is one file that defines `workload`, through definition.h.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#ifdef LOCKCROSS_SCHEDULER
#include "monitor/processor.h"
#include "runtime/scheduler.h"
#endif

/* For a function that is really called, and compiled without knowledge of its callers. */
#ifdef __clang__
#define RUNTIME_OPAQUE __attribute__((noinline))
#else
#define RUNTIME_OPAQUE __attribute__((noipa))
#endif

/* One argument: a whole number from `low` to `high`; with `choices`, one of these words (the list
 * ends with NULL), and `value` is its index; with `choices` equal to runtime_text, any text, and
 * `value` is its address. One that is not `optional` must be given. */
typedef struct {
    const char *name;
    uint64_t low, high;
    const char *const *choices;
    bool optional;
    uint64_t value;
} runtime_key_t;

#ifdef LOCKCROSS_TEXT_KEYS
extern const char *const runtime_text[];
#endif

typedef struct {
    const char *name;
    runtime_key_t *keys; /* ends with a key without a name */
    unsigned min_threads, max_threads;
    /* Once, before the other threads exist. NULL, or why the arguments are refused. */
    const char *(*setup)(void);
    /* Each thread, before the region of interest. */
    void (*prepare)(lock_thread_t *self);
    /* Each thread, in the region of interest. Its acquire-release pairs, or loop iterations. */
    uint64_t (*run)(lock_thread_t *self);
    /* Once, after all threads are done; `pairs` is the sum of what run() returned. NULL, or the
     * check that failed. */
    const char *(*verify)(uint64_t pairs);
} workload_t;

extern const workload_t workload;

#define RUNTIME_KEYS_END {.name = 0}

/* Rows of workloads.def as keys. `presence` is one of the three below, with the default. */
#define RUNTIME_NUMBER(key, presence, least, most)                                                 \
    {.name = #key, .low = least, .high = most, presence}
#define RUNTIME_CHOICE(key, presence, words) {.name = #key, .choices = words, presence}
#define REQUIRED(unused) .optional = false
#define OPTIONAL(default) .optional = true, .value = default
#define OR_ZERO(unused) .optional = true

#ifdef LOCKCROSS_EXTRAS
/* The metrics of a kernel (METRIC in workloads.def), complete when verify() returns. Ends with one
 * without a name. */
typedef struct {
    const char *name;
    uint64_t value;
} runtime_extra_t;
extern runtime_extra_t runtime_extras[];
#endif

/* The arguments `threads` and `seed`. */
extern unsigned runtime_threads;
extern uint64_t runtime_seed;

/* A spin barrier of all threads, also in the region of interest; safe for handshakes. */
void runtime_barrier(lock_thread_t *self);

/* A time stamp for the engine: phase `number` begins on this thread's core. */
void runtime_phase(lock_thread_t *self, uint64_t number);

/* The number of this thread, from 0. */
static inline unsigned runtime_index(const lock_thread_t *self) { return self->tid - 1; }

/* An empty loop of `turns` iterations; where threads share cores each is a yield point. */
static inline void runtime_delay(uint64_t turns) {
#ifdef LOCKCROSS_SCHEDULER
    lock_thread_t *self = scheduler_self();
#endif
    for (; turns != 0; turns--) {
        __asm__ volatile("" : "+r"(turns));
#ifdef LOCKCROSS_SCHEDULER
        processor_poll(self);
#endif
    }
}

#endif
