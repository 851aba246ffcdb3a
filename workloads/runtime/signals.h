/*
 * Linux signals, for locks that interrupt other threads (LOCK_SIGNALS; see
 * lockimpl/parts/reservation_cancel.h). Part of runtime.c.
 *
 * All threads share one handler. The kernel saves the interrupted context on the thread's own stack
 * and restores it when the handler returns, with the changes that the lock has made to it. This
 * works on the host and under QEMU without an engine; an engine's simulated time has no signals.
 */
#ifndef RUNTIME_SIGNALS_H
#define RUNTIME_SIGNALS_H
#include <stdint.h>

#include "lock.h"
#include "runtime/marker.h"
#include "runtime/runtime.h"
#include "runtime/signal_action.h"

static long signal_process;
static long signal_threads[LOCK_MAX_THREADS]; /* the kernel's thread identifiers */

static void signal_handler(int signal, void *info, void *context) {
    (void)signal, (void)info;
    lock_signalled(context);
}

static const signal_action_t signal_action = SIGNAL_ACTION(signal_handler);

/* Before other threads exist, where each thread is one of the host's and no engine runs. */
static inline void signals_start(void) {
    signal_process = runtime_syscall(SYS_GETPID, 0, 0, 0, 0, 0);
    if (runtime_syscall(SYS_SIGACTION, SIGNAL_USR1, (long)&signal_action, 0, sizeof(uint64_t), 0))
        lock_fatal("the signal's handler could not be set");
    lock_signals_possible();
}

/* Each thread, before it uses locks. No gettid under an engine: gem5 does not have it on POWER. */
static inline void signals_begin(lock_thread_t *self) {
    if (announce == SILENT)
        signal_threads[runtime_index(self)] = runtime_syscall(SYS_GETTID, 0, 0, 0, 0, 0);
    lock_thread_begin(self);
}

/* Each thread, when it no longer uses locks. */
static inline void signals_end(lock_thread_t *self) { lock_thread_end(self); }

void lock_signal(const lock_thread_t *thread) {
    long number = signal_threads[runtime_index(thread)];
    if (runtime_syscall(SYS_TGKILL, signal_process, number, SIGNAL_USR1, 0, 0) != 0)
        lock_fatal("a thread could not be signalled");
}

#endif
