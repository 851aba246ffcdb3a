/*
 * Runtime of the workload programs: no libc, no loader. It starts the threads on stacks inside the
 * image, reads the arguments, brackets the region of interest, and prints the result line. System
 * calls: write, clone, exit, exit_group and the marker (docs/interfaces.md, sections 4 and 5), and
 * with a lock that interrupts threads those of signals.h.
 *
 * A kernel is one file that defines `workload`.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "lock.h"
#ifdef LOCKCROSS_SCHEDULER
#include "runtime/scheduler.h"
#endif

/* Of a function that is called as it stands, whatever the compiler knows of it. */
#ifdef __clang__
#define RUNTIME_OPAQUE __attribute__((noinline))
#else
#define RUNTIME_OPAQUE __attribute__((noipa))
#endif

/* One argument of a kernel. Whole numbers from `low` to `high`; with `choices`, one of those words
 * (the list ends with NULL) and `value` its index; with `choices` runtime_text, any text and
 * `value` its address. Without `optional` it must be given. */
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
    /* Once, before the other threads exist. NULL, or why the arguments are impossible. */
    const char *(*setup)(void);
    /* Each thread, before the region of interest. */
    void (*prepare)(lock_thread_t *self);
    /* Each thread, in the region of interest. The acquire-release pairs (or turns) it did. */
    uint64_t (*run)(lock_thread_t *self);
    /* Once, after all threads are done; `pairs` is the sum of what run() returned. NULL, or which
     * check failed. */
    const char *(*verify)(uint64_t pairs);
} workload_t;

extern const workload_t workload;

#define RUNTIME_KEYS_END {.name = 0}

#ifdef LOCKCROSS_EXTRAS
/* What a kernel reports of its own beside the pairs (`metrics` in sweeps/model/workloads.py): complete
 * when verify() returns. Ends with an extra without a name. */
typedef struct {
    const char *name;
    uint64_t value;
} runtime_extra_t;
extern runtime_extra_t runtime_extras[];
#endif

/* Threads of this run, and the argument `seed`. */
extern unsigned runtime_threads;
extern uint64_t runtime_seed;

/* A spin barrier of all threads, in the region of interest too; safe for handshakes. */
void runtime_barrier(lock_thread_t *self);

/* A time stamp for the engine: phase `number` begins on this thread's core. */
void runtime_phase(lock_thread_t *self, uint64_t number);

/* The number of this thread, from 0. */
static inline unsigned runtime_index(const lock_thread_t *self) { return self->tid - 1; }

/* `turns` turns of an empty loop; where threads share cores each is a yield point. */
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
