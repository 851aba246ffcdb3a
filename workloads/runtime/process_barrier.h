/*
 * The kernel's process-wide barrier, for fence kind membarrier (lockimpl/arch/process_barrier.h).
 * Part of runtime.c. It works on the host and under QEMU without an engine; in simulated time the
 * engine charges a barrier, and nothing is asked of the kernel.
 */
#ifndef RUNTIME_PROCESS_BARRIER_H
#define RUNTIME_PROCESS_BARRIER_H
#include <stdbool.h>

#include "lock.h"
#include "runtime/marker.h"

#if defined(__x86_64__)
enum { SYS_MEMBARRIER = 324 };
#elif defined(__powerpc64__)
enum { SYS_MEMBARRIER = 365 };
#else
enum { SYS_MEMBARRIER = 283 };
#endif
enum { PRIVATE_EXPEDITED = 8, REGISTER_PRIVATE_EXPEDITED = 16 }; /* the kernel's commands */

static bool process_barrier_by_kernel;

/* Before other threads exist, where no engine runs. */
static inline void process_barrier_start(void) {
    if (runtime_syscall(SYS_MEMBARRIER, REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0) != 0)
        lock_fatal("the kernel has no membarrier for one process (Linux has it from 4.14)");
    process_barrier_by_kernel = true;
}

void lock_process_barrier(void) {
    if (process_barrier_by_kernel &&
        runtime_syscall(SYS_MEMBARRIER, PRIVATE_EXPEDITED, 0, 0, 0, 0) != 0)
        lock_fatal("membarrier failed");
}

#endif
