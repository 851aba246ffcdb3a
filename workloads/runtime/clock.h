/* The simulated clock, for workloads whose threads share cores: only the scheduler has one. */
#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H

#include "runtime/runtime.h"

#ifdef LOCKCROSS_SCHEDULER
static inline uint64_t clock_of(lock_thread_t *self) { return scheduler_clock(self); }
#define CLOCK_MISSING(workload) 0
#else
static inline uint64_t clock_of(lock_thread_t *self) { return self->tid; }
#define CLOCK_MISSING(workload) workload " runs with cores: it needs the scheduler's clock"
#endif

#endif
