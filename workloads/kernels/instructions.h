/* The fences of each instruction set, in the order in which sweeps/model/isa.py names them: the
 * full one first. The locks never use them so; micro measures them. */
#ifndef KERNELS_INSTRUCTIONS_H
#define KERNELS_INSTRUCTIONS_H

/* FENCES: how many there are; the others are empty. */
#if defined(__x86_64__)
enum { FENCES = 3 };
#define FENCE_0 "mfence"
#define FENCE_1 "lfence"
#define FENCE_2 "sfence"
#define FENCE_3 ""
#define FENCE_4 ""
#elif defined(__powerpc64__)
enum { FENCES = 3 };
#define FENCE_0 "sync"
#define FENCE_1 "lwsync"
#define FENCE_2 "isync"
#define FENCE_3 ""
#define FENCE_4 ""
#else
enum { FENCES = 5 };
#define FENCE_0 "dmb ish"
#define FENCE_1 "dmb ishld"
#define FENCE_2 "dmb ishst"
#define FENCE_3 "dsb ish"
#define FENCE_4 "isb"
#endif

#define ORDER(fence) __asm__ volatile(fence::: "memory")
#define NO_OPERATIONS(count) __asm__ volatile(".rept " #count "\n\tnop\n\t.endr")
/* The compiler knows nothing of `x` behind it, so operations on it stay one after the other. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

#endif
