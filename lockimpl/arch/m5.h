/* gem5's m5 operations: instructions that are undefined on hardware. x86-64 and AArch64 have them,
 * POWER does not (gem5, include/gem5/asm/generic/m5ops.h and util/m5/src/abi). */
#ifndef LOCKCROSS_ARCH_M5_H
#define LOCKCROSS_ARCH_M5_H

#include <stdint.h>

#if defined(__powerpc64__)
#define LOCKCROSS_HAS_M5 0
#else
#define LOCKCROSS_HAS_M5 1

#define M5_QUIESCE_CYCLES 0x03
#define M5_WORK_BEGIN 0x5a
#define M5_WORK_END 0x5b

#if defined(__x86_64__)
#define M5_OPERATION(function, first, second)                                                      \
    do {                                                                                           \
        uint64_t m5_result_, m5_first_ = (first), m5_second_ = (second);                           \
        __asm__ volatile(".byte 0x0f, 0x04\n\t.short %c[code]"                                     \
                         : "=a"(m5_result_), "+D"(m5_first_), "+S"(m5_second_)                     \
                         : [code] "i"(function)                                                    \
                         : "memory");                                                              \
    } while (0)
#else
#define M5_OPERATION(function, first, second)                                                      \
    do {                                                                                           \
        register uint64_t m5_first_ __asm__("x0") = (first);                                       \
        register uint64_t m5_second_ __asm__("x1") = (second);                                     \
        __asm__ volatile(".inst 0xff000110 | (%c[code] << 16)"                                     \
                         : "+r"(m5_first_), "+r"(m5_second_)                                       \
                         : [code] "i"(function)                                                    \
                         : "memory");                                                              \
    } while (0)
#endif

static inline __attribute__((always_inline)) void m5_quiesce_cycles(uint64_t cycles) {
    M5_OPERATION(M5_QUIESCE_CYCLES, cycles, 0);
}

static inline void m5_work_begin(uint64_t work, uint64_t thread) {
    M5_OPERATION(M5_WORK_BEGIN, work, thread);
}

static inline void m5_work_end(uint64_t work, uint64_t thread) {
    M5_OPERATION(M5_WORK_END, work, thread);
}
#endif

#endif
