/*
 * M:N threads: the threads of a run share fewer cores. Programs compiled with
 * -DLOCKCROSS_SCHEDULER=1; what the locks see of it is lockimpl/monitor/processor.h.
 *
 * The run queue is that of Kaffe's jthread, the platform of Odaira and Hiraki: one for all cores,
 * a first-in first-out list for each priority, and a thread that wakes one of higher priority gives
 * way to it. With run_queue=round_robin priorities do not count there, as in Jikes RVM, the
 * platform of Welc et al.; from there come the yield points, too: a thread is switched out at the
 * first one behind the end of its time slice, if another of its priority or above can run.
 *
 * A core takes a thread up with a whole slice, which includes the switch itself. Each core is a
 * thread of the host (a carrier) with a stack of its own, on which it waits when nothing can run.
 */
#ifndef RUNTIME_SCHEDULER_H
#define RUNTIME_SCHEDULER_H

#include "lock.h"
#include "runtime/layout.h"

typedef struct {
    unsigned threads, cores;
    uint64_t slice;   /* cycles (ticks of the host, without an engine); 0: it never ends */
    bool round_robin; /* priorities do not count in the run queue */
    bool engine;      /* an engine listens to markers */
} scheduler_settings_t;

extern char scheduler_stacks[LOCK_MAX_THREADS][RUNTIME_STACK_SIZE];

/* Once, before the carriers exist: every thread can run. */
void scheduler_setup(const scheduler_settings_t *settings);

/* What carrier number `core` does: runs threads until all have come to scheduler_stop, begins the
 * region of interest, runs them until they stop again, ends it. Returns the ticks of the region. */
uint64_t scheduler_carry(unsigned core);

/* What every thread does; given by the runtime. It calls scheduler_stop before the region of
 * interest, and at its end, from where it does not come back. */
void runtime_scheduled_thread(lock_thread_t *self);
void scheduler_stop(lock_thread_t *self);

/* The cycle that it is on this core, or the host's ticks without an engine. In the region only. */
uint64_t scheduler_clock(lock_thread_t *self);

/* The thread that asks, by the stack it runs on. */
static inline lock_thread_t *scheduler_self(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return &lock_threads[(here - (uintptr_t)scheduler_stacks) / RUNTIME_STACK_SIZE];
}

#endif
