/* What micro measures of each instruction set. Its fences are in the order in which
 * sweeps/model/isa.py names them, the full one first; the locks never use them so. */
#ifndef KERNELS_INSTRUCTIONS_H
#define KERNELS_INSTRUCTIONS_H

/* FENCES: how many there are; the others are empty. SETTLE: what is behind it begins when all
 * before it is done, its stores too. */
#if defined(__x86_64__)
enum { FENCES = 3 };
#define SETTLE "mfence\n\tlfence"
#define FENCE_0 "mfence"
#define FENCE_1 "lfence"
#define FENCE_2 "sfence"
#define FENCE_3 ""
#define FENCE_4 ""
#define COPY(to, from) __asm__ volatile("mov %1, %0" : "=&r"(to) : "r"(from))
#define ZERO(x) __asm__ volatile("xor %k0, %k0" : "+r"(x)::"cc") /* as compilers do */
#define JUMP "jmp"
#elif defined(__powerpc64__)
enum { FENCES = 3 };
#define SETTLE "sync\n\tisync"
#define FENCE_0 "sync"
#define FENCE_1 "lwsync"
#define FENCE_2 "isync"
#define FENCE_3 ""
#define FENCE_4 ""
#define COPY(to, from) __asm__ volatile("mr %0, %1" : "=&r"(to) : "r"(from))
#define ZERO(x) __asm__ volatile("xor %0, %0, %0" : "+r"(x))
#define JUMP "b"
#else
enum { FENCES = 5 };
#define SETTLE "dsb ish\n\tisb"
#define FENCE_0 "dmb ish"
#define FENCE_1 "dmb ishld"
#define FENCE_2 "dmb ishst"
#define FENCE_3 "dsb ish"
#define FENCE_4 "isb"
#define COPY(to, from) __asm__ volatile("mov %0, %1" : "=&r"(to) : "r"(from))
#define ZERO(x) __asm__ volatile("eor %0, %0, %0" : "+r"(x))
#define JUMP "b"
#endif

#define ORDER(fence) __asm__ volatile(fence::: "memory")
#define NO_OPERATIONS(count) __asm__ volatile(".rept " #count "\n\tnop\n\t.endr")
/* Each to the next, which is some bytes behind it. */
#define JUMPS(count) __asm__ volatile(".rept " #count "\n\t" JUMP " 7f\n\t.balign 32\n7:\n\t.endr")
/* The compiler knows nothing of `x` behind it, so operations on it stay one after the other. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

#endif
