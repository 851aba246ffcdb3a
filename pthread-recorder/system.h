/*
 * System calls as they are: no errno, no cancellation point, nothing that another library may have
 * replaced. A negative result is the error. The writer (writer.c) may use nothing else, since it
 * runs in the program's memory and is none of its threads.
 */
#pragma once
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/* What older headers lack: the numbers are those of all machines. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

#define HIDDEN __attribute__((visibility("hidden")))

#if defined(__x86_64__)
static inline long call_6(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long d_ __asm__("r10") = d, e_ __asm__("r8") = e, f_ __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d_), "r"(e_), "r"(f_)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long call_6(long number, long a, long b, long c, long d, long e, long f) {
    register long n_ __asm__("x8") = number, a_ __asm__("x0") = a, b_ __asm__("x1") = b;
    register long c_ __asm__("x2") = c, d_ __asm__("x3") = d, e_ __asm__("x4") = e;
    register long f_ __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(a_)
                     : "r"(n_), "r"(b_), "r"(c_), "r"(d_), "r"(e_), "r"(f_)
                     : "memory");
    return a_;
}
#elif defined(__riscv) && __riscv_xlen == 64
static inline long call_6(long number, long a, long b, long c, long d, long e, long f) {
    register long n_ __asm__("a7") = number, a_ __asm__("a0") = a, b_ __asm__("a1") = b;
    register long c_ __asm__("a2") = c, d_ __asm__("a3") = d, e_ __asm__("a4") = e;
    register long f_ __asm__("a5") = f;
    __asm__ volatile("ecall"
                     : "+r"(a_)
                     : "r"(n_), "r"(b_), "r"(c_), "r"(d_), "r"(e_), "r"(f_)
                     : "memory");
    return a_;
}
#elif defined(__powerpc64__)
static inline long call_6(long number, long a, long b, long c, long d, long e, long f) {
    register long n_ __asm__("r0") = number, a_ __asm__("r3") = a, b_ __asm__("r4") = b;
    register long c_ __asm__("r5") = c, d_ __asm__("r6") = d, e_ __asm__("r7") = e;
    register long f_ __asm__("r8") = f;
    __asm__ volatile("sc\n\tbns+ 1f\n\tneg %0, %0\n1:"
                     : "+r"(a_), "+r"(n_), "+r"(b_), "+r"(c_), "+r"(d_), "+r"(e_), "+r"(f_)
                     :
                     : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
    return a_;
}
#elif defined(__s390x__)
static inline long call_6(long number, long a, long b, long c, long d, long e, long f) {
    register long n_ __asm__("r1") = number, a_ __asm__("r2") = a, b_ __asm__("r3") = b;
    register long c_ __asm__("r4") = c, d_ __asm__("r5") = d, e_ __asm__("r6") = e;
    register long f_ __asm__("r7") = f;
    __asm__ volatile("svc 0"
                     : "+r"(a_)
                     : "r"(n_), "r"(b_), "r"(c_), "r"(d_), "r"(e_), "r"(f_)
                     : "memory");
    return a_;
}
#else
#error "no recorder for this instruction set: x86-64, AArch64, RISC-V, POWER and s390x have one"
#endif

#define CALL_N(number, a, b, c, d, e, f, ...)                                                      \
    call_6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* sys(name, up to six arguments) */
#define sys(name, ...) CALL_N(SYS_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)

static inline void futex_wake(_Atomic uint32_t *word) {
    sys(futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

/* Until the word is another, for so many microseconds at most: less than a second. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, unsigned microseconds) {
    struct timespec most = {0, (long)microseconds * 1000};
    sys(futex, word, FUTEX_WAIT_PRIVATE, value, &most);
}
