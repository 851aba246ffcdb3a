/*
 * M:N threads: the threads of a run share fewer cores, in programs compiled with
 * -DLOCKCROSS_SCHEDULER=1. What the locks see of it is lockimpl/monitor/processor.h.
 *
 * The run queue is that of Kaffe's jthread, the platform of Odaira and Hiraki: one queue for all
 * cores, with a first-in first-out list for each priority. A thread that wakes one of higher
 * priority gives way to it. With run_queue=round_robin the queue ignores priorities, as in Jikes
 * RVM, the platform of Welc et al. The yield points come from there, too: a thread is switched out
 * at the first yield point after the end of its time slice, if another thread of its priority or
 * above can run.
 *
 * A thread that a core takes up gets a whole slice, which includes the switch itself. Each core is
 * a host thread (a carrier) with a stack of its own, on which it waits when no thread can run.
 */
#ifndef RUNTIME_SCHEDULER_H
#define RUNTIME_SCHEDULER_H
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/layout.h"

typedef struct {
    unsigned threads, cores;
    uint64_t slice;   /* cycles (ticks of the host without an engine); 0: slices never end */
    bool round_robin; /* the run queue ignores priorities */
    bool engine;      /* an engine listens for markers */
} scheduler_settings_t;

extern char scheduler_stacks[LOCK_MAX_THREADS][RUNTIME_STACK_SIZE];

/* Once, before the carriers exist: makes every thread ready to run. */
void scheduler_setup(const scheduler_settings_t *settings);

/* The work of carrier number `core`: runs threads until all have come to scheduler_stop, begins the
 * region of interest, runs them until they stop again, ends the region. Returns its ticks. */
uint64_t scheduler_carry(unsigned core);

/* The work of every thread; defined by the runtime. It calls scheduler_stop before the region of
 * interest, and at its end, where scheduler_stop does not return. */
void runtime_scheduled_thread(lock_thread_t *self);
void scheduler_stop(lock_thread_t *self);

/* The current cycle of this core, or the host's ticks without an engine. In the region only. */
uint64_t scheduler_clock(lock_thread_t *self);

#ifdef LOCKCROSS_SLEEPS
/* Switches `self` out for so many cycles (ticks of the host without an engine), and until a core
 * looks for threads whose time is over: where threads are switched. */
void scheduler_sleep(lock_thread_t *self, uint64_t cycles);

/* From now on slices end at the ticks of a timer that never stops, a slice apart, as those of Jikes
 * RVM do: a thread that is taken up in between has what is left until the next one. */
void scheduler_tick(void);
#endif

#ifdef LOCK_READS_TIME
/* In clock.h: nanoseconds, of the kernel's clock and of a core's cycles. */
uint64_t clock_of_kernel(void);
uint64_t clock_of_cycles(uint64_t cycles);
#endif

/* The calling thread, by the stack that it runs on. */
static inline lock_thread_t *scheduler_self(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return &lock_threads[(here - (uintptr_t)scheduler_stacks) / RUNTIME_STACK_SIZE];
}

#endif
