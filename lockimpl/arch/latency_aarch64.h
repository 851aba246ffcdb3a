/* Added latency on AArch64; see arch/latency.h. The program itself uses no floating point. */
#ifndef LOCKCROSS_LATENCY_H
#error "include arch/latency.h"
#endif

/* One instruction on `after`, and one operation that waits for it. */
#define LATENCY_SENTINEL_OPERATION(instruction, after)                                             \
    __asm__ volatile("fmov d0, %[value]\n\t" instruction "\n\t"                                    \
                     "fmov %[value], d0\n\t"                                                       \
                     "and %[value], %[value], xzr"                                                 \
                     : [value] "+r"(after)                                                         \
                     :                                                                             \
                     : "memory")

#define LATENCY_SENTINEL_OF_ATOMIC "fsqrt d0, d0"   /* gem5's class FloatSqrt */
#define LATENCY_SENTINEL_OF_FENCE "fdiv d0, d0, d0" /* FloatDiv */
#define LATENCY_CHAIN_LINK "add %[value], %[value], #1"

/* `turns` turns of a loop that begins when `after` is known. */
static inline void latency_pad(uint64_t turns, uint32_t after) {
    uint64_t left = after;
    __asm__ volatile("and %[left], %[left], xzr\n\t"
                     "add %[left], %[left], %[turns]\n\t"
                     "cbz %[left], 2f\n\t"
                     ".p2align 5\n"
                     "1: subs %[left], %[left], #1\n\t"
                     "b.ne 1b\n"
                     "2:"
                     : [left] "+&r"(left)
                     : [turns] "r"(turns)
                     : "cc", "memory");
}
