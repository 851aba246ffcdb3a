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

#if defined(__x86_64__)
enum { SYS_SIGACTION = 13, SYS_GETPID = 39, SYS_GETTID = 186, SYS_TGKILL = 234 };
#elif defined(__powerpc64__)
enum { SYS_SIGACTION = 173, SYS_GETPID = 20, SYS_GETTID = 207, SYS_TGKILL = 250 };
#else
enum { SYS_SIGACTION = 134, SYS_GETPID = 172, SYS_GETTID = 178, SYS_TGKILL = 131 };
#endif
enum { SIGNAL_USR1 = 10 };
#define SIGNAL_SIGINFO 0x4ul         /* the handler gets the context */
#define SIGNAL_RESTORER 0x04000000ul /* the handler returns to `restorer` */
#define SIGNAL_RESTART 0x10000000ul  /* an interrupted system call is restarted */

/* As the kernel's struct sigaction. */
typedef struct {
    void (*handler)(int signal, void *info, void *context);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} signal_action_t;

static long signal_process;
static long signal_threads[LOCK_MAX_THREADS]; /* the kernel's thread identifiers */

static void signal_handler(int signal, void *info, void *context) {
    (void)signal, (void)info;
    lock_signalled(context);
}

#if defined(__x86_64__)
/* rt_sigreturn; on the other ISAs the kernel provides it. */
__attribute__((naked)) static void signal_return(void) {
    __asm__ volatile("movl $15, %eax\n\tsyscall");
}
static const signal_action_t signal_action = {
    signal_handler, SIGNAL_SIGINFO | SIGNAL_RESTART | SIGNAL_RESTORER, signal_return, 0};
#else
static const signal_action_t signal_action = {signal_handler, SIGNAL_SIGINFO | SIGNAL_RESTART, 0,
                                              0};
#endif

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
