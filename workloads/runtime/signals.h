/*
 * Signals of Linux, as far as a lock needs them that interrupts other threads (LOCK_SIGNALS, see
 * lockimpl/locks/reservation_cancel.h). Part of runtime.c.
 *
 * Every thread has the one handler; the kernel saves the interrupted context on the thread's own
 * stack and loads it again when the handler returns, with what the lock has changed in it. This
 * works on the host and under QEMU without an engine. An engine's simulated time knows no signals.
 */
#ifndef RUNTIME_SIGNALS_H
#define RUNTIME_SIGNALS_H

#if defined(__x86_64__)
enum { SYS_SIGACTION = 13, SYS_GETPID = 39, SYS_GETTID = 186, SYS_TGKILL = 234 };
#elif defined(__powerpc64__)
enum { SYS_SIGACTION = 173, SYS_GETPID = 20, SYS_GETTID = 207, SYS_TGKILL = 250 };
#else
enum { SYS_SIGACTION = 134, SYS_GETPID = 172, SYS_GETTID = 178, SYS_TGKILL = 131 };
#endif
enum { SIGNAL_USR1 = 10 };
#define SIGNAL_SIGINFO 0x4ul         /* the handler is given the context */
#define SIGNAL_RESTORER 0x04000000ul /* the handler returns to `restorer` */
#define SIGNAL_RESTART 0x10000000ul  /* a system call goes on afterwards */

/* The kernel's sigaction. */
typedef struct {
    void (*handler)(int signal, void *info, void *context);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} signal_action_t;

static long signal_process;
static long signal_threads[LOCK_MAX_THREADS]; /* the kernel's numbers */

static void signal_handler(int signal, void *info, void *context) {
    (void)signal, (void)info;
    lock_signalled(context);
}

#if defined(__x86_64__)
/* rt_sigreturn; the other ISAs' kernels bring their own. */
__attribute__((naked)) static void signal_return(void) {
    __asm__ volatile("movl $15, %eax\n\tsyscall");
}
static const signal_action_t signal_action = {
    signal_handler, SIGNAL_SIGINFO | SIGNAL_RESTART | SIGNAL_RESTORER, signal_return, 0};
#else
static const signal_action_t signal_action = {signal_handler, SIGNAL_SIGINFO | SIGNAL_RESTART, 0,
                                              0};
#endif

/* Where each thread is one of the host's and no engine runs: before there are other threads. */
static inline void signals_start(void) {
    signal_process = runtime_syscall(SYS_GETPID, 0, 0, 0, 0, 0);
    if (runtime_syscall(SYS_SIGACTION, SIGNAL_USR1, (long)&signal_action, 0, sizeof(uint64_t), 0))
        lock_fatal("the signal's handler could not be set");
    lock_signals_possible();
}

/* Each thread, before it uses locks. An engine is asked for no more system calls than it must know:
 * gem5 has no gettid for POWER. */
static inline void signals_begin(lock_thread_t *self) {
    if (announce == SILENT)
        signal_threads[runtime_index(self)] = runtime_syscall(SYS_GETTID, 0, 0, 0, 0, 0);
    lock_thread_begin(self);
}

/* Each thread, when it does not use them any more. */
static inline void signals_end(lock_thread_t *self) { lock_thread_end(self); }

void lock_signal(const lock_thread_t *thread) {
    long number = signal_threads[runtime_index(thread)];
    if (runtime_syscall(SYS_TGKILL, signal_process, number, SIGNAL_USR1, 0, 0) != 0)
        lock_fatal("a thread could not be signalled");
}

#endif
