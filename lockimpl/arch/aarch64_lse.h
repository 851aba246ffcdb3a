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

/* Earlier accesses stay before it; it does not acquire. */
LOCKCROSS_CAS(cas_rel_u32, "casl")

/* As cas_acq_u32, without ordering. */
LOCKCROSS_CAS(cas_rlx_u32, "cas")
#undef LOCKCROSS_CAS

/* Puts `value` into *p, adds it, or sets its bits; returns the old value. */
#define LOCKCROSS_RMW(name, bits, rmw)                                                             \
    static inline uint##bits##_t name(volatile uint##bits##_t *p, uint##bits##_t value) {          \
        uint##bits##_t seen;                                                                       \
        __asm__ volatile(rmw " %w[value], %w[seen], %[word]"                                       \
                         : [seen] "=r"(seen), [word] "+Q"(*p)                                      \
                         : [value] "r"(value)                                                      \
                         : "memory");                                                              \
        LATENCY_AFTER_ATOMIC(seen);                                                                \
        return seen;                                                                               \
    }
LOCKCROSS_RMW(fetch_add_acq_rel_u32, 32, "ldaddal")
LOCKCROSS_RMW(fetch_add_rel_u32, 32, "ldaddl")
LOCKCROSS_RMW(fetch_set_acq_u32, 32, "ldseta")
LOCKCROSS_RMW(swap_acq_rel_u32, 32, "swpal")
LOCKCROSS_RMW(swap_rel_u32, 32, "swpl")
LOCKCROSS_RMW(swap_acq_rel_u16, 16, "swpalh")
#undef LOCKCROSS_RMW
