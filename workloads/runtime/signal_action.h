/* A handler of a Linux signal, as the kernel takes it (rt_sigaction). */
#ifndef RUNTIME_SIGNAL_ACTION_H
#define RUNTIME_SIGNAL_ACTION_H
#include <stdint.h>

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

#if defined(__x86_64__)
/* rt_sigreturn; on the other ISAs the kernel provides it. */
__attribute__((naked)) static void signal_return(void) {
    __asm__ volatile("movl $15, %eax\n\tsyscall");
}
#define SIGNAL_ACTION(handler)                                                                     \
    {handler, SIGNAL_SIGINFO | SIGNAL_RESTART | SIGNAL_RESTORER, signal_return, 0}
#else
#define SIGNAL_ACTION(handler) {handler, SIGNAL_SIGINFO | SIGNAL_RESTART, 0, 0}
#endif

#endif
