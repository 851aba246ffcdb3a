/* Added latency on x86-64; see arch/latency.h. The program itself uses no SSE register. */
#ifndef LOCKCROSS_ARCH_H
#error "include arch/arch.h"
#endif
#include "arch/m5.h"

static inline __attribute__((always_inline)) void latency_quiesce(uint64_t cycles) {
    m5_quiesce_cycles(cycles);
}

/* One instruction on `after`, and one operation that waits for it. */
#define LATENCY_SENTINEL_OPERATION(instruction, after)                                             \
    __asm__ volatile("movq %[value], %%xmm0\n\t" instruction "\n\t"                                \
                     "movq %%xmm0, %[value]\n\t"                                                   \
                     "andl $0, %k[value]"                                                          \
                     : [value] "+r"(after)                                                         \
                     :                                                                             \
                     : "cc", "memory")

/* gem5's operation class SimdFloatSqrt. */
static inline void latency_sentinel_atomic(uint64_t after) {
    LATENCY_SENTINEL_OPERATION("sqrtsd %%xmm0, %%xmm0", after);
}

/* gem5's operation class SimdFloatDiv. */
static inline void latency_sentinel_fence(uint64_t after) {
    LATENCY_SENTINEL_OPERATION("divsd %%xmm0, %%xmm0", after);
}
#undef LATENCY_SENTINEL_OPERATION

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

/* `count` operations in a row that begin when `after` is known. */
#define LATENCY_CHAIN_OF(count, after)                                                             \
    do {                                                                                           \
        uint64_t latency_value_ = (after);                                                         \
        __asm__ volatile(".rept %c[turns]\n\tincq %[value]\n\t.endr"                               \
                         : [value] "+r"(latency_value_)                                            \
                         : [turns] "i"(count)                                                      \
                         : "cc", "memory");                                                        \
    } while (0)
