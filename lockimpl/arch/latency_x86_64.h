/* Added latency on x86-64; see arch/latency.h. The program itself uses no SSE register. */
#ifndef LOCKCROSS_LATENCY_H
#error "include arch/latency.h"
#endif

/* One instruction on `after`, and one operation that waits for it. */
#define LATENCY_SENTINEL_OPERATION(instruction, after)                                             \
    __asm__ volatile("movq %[value], %%xmm0\n\t" instruction "\n\t"                                \
                     "movq %%xmm0, %[value]\n\t"                                                   \
                     "andl $0, %k[value]"                                                          \
                     : [value] "+r"(after)                                                         \
                     :                                                                             \
                     : "cc", "memory")

#define LATENCY_SENTINEL_OF_ATOMIC "sqrtsd %%xmm0, %%xmm0" /* gem5's class SimdFloatSqrt */
#define LATENCY_SENTINEL_OF_FENCE "divsd %%xmm0, %%xmm0"   /* SimdFloatDiv */
#define LATENCY_CHAIN_LINK "incq %[value]"

/* `turns` turns of a loop that begins when `after` is known. */
static inline void latency_pad(uint64_t turns, uint32_t after) {
    uint64_t left = after;
    __asm__ volatile("andl $0, %k[left]\n\t"
                     "addq %[turns], %[left]\n\t"
                     "jz 2f\n\t"
                     ".p2align 5\n"
                     "1: decq %[left]\n\t"
                     "jnz 1b\n"
                     "2:"
                     : [left] "+&r"(left)
                     : [turns] "r"(turns)
                     : "cc", "memory");
}
