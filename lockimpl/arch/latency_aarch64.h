/* Added latency on AArch64; see arch/latency.h. The program itself uses no floating point. */
#ifndef LOCKCROSS_ARCH_H
#error "include arch/arch.h"
#endif
#include "arch/m5.h"

static inline __attribute__((always_inline)) void latency_quiesce(uint64_t cycles) {
    m5_quiesce_cycles(cycles);
}

/* One instruction on `after`, and one operation that waits for it. */
#define LATENCY_SENTINEL_OPERATION(instruction, after)                                             \
    __asm__ volatile("fmov d0, %[value]\n\t" instruction "\n\t"                                    \
                     "fmov %[value], d0\n\t"                                                       \
                     "and %[value], %[value], xzr"                                                 \
                     : [value] "+r"(after)                                                         \
                     :                                                                             \
                     : "memory")

/* gem5's operation class FloatSqrt. */
static inline void latency_sentinel_atomic(uint64_t after) {
    LATENCY_SENTINEL_OPERATION("fsqrt d0, d0", after);
}

/* gem5's operation class FloatDiv. */
static inline void latency_sentinel_fence(uint64_t after) {
    LATENCY_SENTINEL_OPERATION("fdiv d0, d0, d0", after);
}
#undef LATENCY_SENTINEL_OPERATION

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

/* `count` operations in a row that begin when `after` is known. */
#define LATENCY_CHAIN_OF(count, after)                                                             \
    do {                                                                                           \
        uint64_t latency_value_ = (after);                                                         \
        __asm__ volatile(".rept %c[turns]\n\tadd %[value], %[value], #1\n\t.endr"                  \
                         : [value] "+r"(latency_value_)                                            \
                         : [turns] "i"(count)                                                      \
                         : "memory");                                                              \
    } while (0)
