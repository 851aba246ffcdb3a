/*
 * Interrupts of other threads by the host's kernel. Part of kernel interrupts (its head comment
 * says what for). A thread's time is lost where its counter jumps: by more than a loop takes.
 */
#ifndef RUNTIME_INTERRUPTS_H
#define RUNTIME_INTERRUPTS_H
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "runtime/marker.h"
#include "runtime/process_barrier.h"
#include "runtime/runtime.h"
#include "runtime/signal_action.h"

enum { JUMP = 200 }; /* ticks; a turn of the loop takes a tenth of that */

static long interrupt_process;
static long interrupt_threads[LOCK_MAX_THREADS]; /* the kernel's thread identifiers */
static volatile uint32_t interrupts_count;

static void interrupt_handler(int signal, void *info, void *context) {
    (void)signal, (void)info, (void)context;
    fetch_add_acq_rel_u32(&interrupts_count, 1);
}

static void interrupts_begin(const lock_thread_t *self) {
    interrupt_threads[runtime_index(self)] = runtime_syscall(SYS_GETTID, 0, 0, 0, 0, 0);
    if (runtime_index(self) != 0)
        return;
    static const signal_action_t action = SIGNAL_ACTION(interrupt_handler);
    interrupt_process = runtime_syscall(SYS_GETPID, 0, 0, 0, 0, 0);
    if (runtime_syscall(SYS_SIGACTION, SIGNAL_USR1, (long)&action, 0, sizeof(uint64_t), 0))
        lock_fatal("the signal's handler could not be set");
    process_barrier_start();
}

static void interrupt_by_membarrier(void) { lock_process_barrier(); }

static void interrupt_by_signal(unsigned thread) {
    if (runtime_syscall(SYS_TGKILL, interrupt_process, interrupt_threads[thread], SIGNAL_USR1, 0,
                        0) != 0)
        lock_fatal("a thread could not be signalled");
}

static bool interrupts_answered(uint32_t number) {
    return load_acq_u32(&interrupts_count) == number;
}

/* What thread `me` has lost since the last call, in ticks. */
static uint64_t ticks_lost(unsigned me) {
    static struct {
        uint64_t last;
    } __attribute__((aligned(LOCK_LINE))) seen[LOCK_MAX_THREADS];
    uint64_t now = read_ticks(), last = seen[me].last;
    seen[me].last = now;
    return last != 0 && now - last > JUMP ? now - last : 0;
}

#endif
