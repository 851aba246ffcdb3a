/* AArch64 with the load-exclusive and store-exclusive instructions of ARMv8.0. */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/arch.h"
#endif
#include "arch/aarch64_common.h"

#define LOCKCROSS_FLAVOUR "llsc"

/* A CAS by an exclusive `load` and `store`. */
#define LOCKCROSS_CAS(name, load, store)                                                           \
    static inline bool name(volatile uint32_t *p, uint32_t expected, uint32_t desired) {           \
        uint32_t seen, lost;                                                                       \
        __asm__ volatile("1: " load " %w[seen], %[word]\n\t"                                       \
                         "cmp %w[seen], %w[expected]\n\t"                                          \
                         "b.ne 2f\n\t" store " %w[lost], %w[desired], %[word]\n\t"                 \
                         "cbnz %w[lost], 1b\n"                                                     \
                         "2:"                                                                      \
                         : [seen] "=&r"(seen), [lost] "=&r"(lost), [word] "+Q"(*p)                 \
                         : [expected] "r"(expected), [desired] "r"(desired)                        \
                         : "cc", "memory");                                                        \
        if (seen == expected)                                                                      \
            LATENCY_AFTER_ATOMIC(lost);                                                            \
        return seen == expected;                                                                   \
    }

/* Changes *p from `expected` to `desired`; returns whether it did. */
LOCKCROSS_CAS(cas_acq_u32, "ldaxr", "stxr")

/* As cas_acq_u32, and earlier accesses stay before it. */
LOCKCROSS_CAS(cas_acq_rel_u32, "ldaxr", "stlxr")

/* Earlier accesses stay before it; it does not acquire. */
LOCKCROSS_CAS(cas_rel_u32, "ldxr", "stlxr")

/* As cas_acq_u32, without ordering. */
LOCKCROSS_CAS(cas_rlx_u32, "ldxr", "stxr")
#undef LOCKCROSS_CAS

/* Changes *p by `operation`, given `value`; returns the old value. */
#define LOCKCROSS_FETCH(name, operation, load, store)                                              \
    static inline uint32_t name(volatile uint32_t *p, uint32_t value) {                            \
        uint32_t seen, next, lost;                                                                 \
        __asm__ volatile(                                                                          \
            "1: " load " %w[seen], %[word]\n\t" operation                                          \
            " %w[next], %w[seen], %w[value]\n\t" store " %w[lost], %w[next], %[word]\n\t"          \
            "cbnz %w[lost], 1b"                                                                    \
            : [seen] "=&r"(seen), [next] "=&r"(next), [lost] "=&r"(lost), [word] "+Q"(*p)          \
            : [value] "r"(value)                                                                   \
            : "memory");                                                                           \
        LATENCY_AFTER_ATOMIC(lost);                                                                \
        return seen;                                                                               \
    }
LOCKCROSS_FETCH(fetch_add_acq_rel_u32, "add", "ldaxr", "stlxr")
LOCKCROSS_FETCH(fetch_add_rel_u32, "add", "ldxr", "stlxr")
LOCKCROSS_FETCH(fetch_set_acq_u32, "orr", "ldaxr", "stxr")
#undef LOCKCROSS_FETCH

/* Replaces *p; returns its old value. */
#define LOCKCROSS_SWAP(name, bits, load, store)                                                    \
    static inline uint##bits##_t name(volatile uint##bits##_t *p, uint##bits##_t value) {          \
        uint##bits##_t seen;                                                                       \
        uint32_t lost;                                                                             \
        __asm__ volatile("1: " load " %w[seen], %[word]\n\t" store                                 \
                         " %w[lost], %w[value], %[word]\n\t"                                       \
                         "cbnz %w[lost], 1b"                                                       \
                         : [seen] "=&r"(seen), [lost] "=&r"(lost), [word] "+Q"(*p)                 \
                         : [value] "r"(value)                                                      \
                         : "memory");                                                              \
        LATENCY_AFTER_ATOMIC(lost);                                                                \
        return seen;                                                                               \
    }
LOCKCROSS_SWAP(swap_acq_rel_u32, 32, "ldaxr", "stlxr")
LOCKCROSS_SWAP(swap_rel_u32, 32, "ldxr", "stlxr")
LOCKCROSS_SWAP(swap_acq_rel_u16, 16, "ldaxrh", "stlxrh")
#undef LOCKCROSS_SWAP
