/* AArch64 with the single-instruction atomics of ARMv8.1 (LSE). */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/arch.h"
#endif
#include "arch/aarch64_common.h"

#define LOCKCROSS_FLAVOUR "lse"

/* A CAS by the instruction `cas`. */
#define LOCKCROSS_CAS(name, cas)                                                                   \
    static inline bool name(volatile uint32_t *p, uint32_t expected, uint32_t desired) {           \
        uint32_t seen = expected;                                                                  \
        __asm__ volatile(cas " %w[seen], %w[desired], %[word]"                                     \
                         : [seen] "+r"(seen), [word] "+Q"(*p)                                      \
                         : [desired] "r"(desired)                                                  \
                         : "memory");                                                              \
        LATENCY_AFTER_ATOMIC(seen);                                                                \
        return seen == expected;                                                                   \
    }

/* Changes *p from `expected` to `desired`; returns whether it did. */
LOCKCROSS_CAS(cas_acq_u32, "casa")

/* As cas_acq_u32, and earlier accesses stay before it. */
LOCKCROSS_CAS(cas_acq_rel_u32, "casal")

/* As cas_acq_u32, without ordering. */
LOCKCROSS_CAS(cas_rlx_u32, "cas")
#undef LOCKCROSS_CAS

/* Adds to *p; returns its old value. */
static inline uint32_t fetch_add_acq_rel_u32(volatile uint32_t *p, uint32_t add) {
    uint32_t seen;
    __asm__ volatile("ldaddal %w[add], %w[seen], %[word]"
                     : [seen] "=r"(seen), [word] "+Q"(*p)
                     : [add] "r"(add)
                     : "memory");
    LATENCY_AFTER_ATOMIC(seen);
    return seen;
}

/* Replaces *p; returns its old value. */
static inline uint32_t swap_acq_rel_u32(volatile uint32_t *p, uint32_t value) {
    uint32_t seen;
    __asm__ volatile("swpal %w[value], %w[seen], %[word]"
                     : [seen] "=r"(seen), [word] "+Q"(*p)
                     : [value] "r"(value)
                     : "memory");
    LATENCY_AFTER_ATOMIC(seen);
    return seen;
}
