/* POWER, little-endian ELFv2: weakly ordered. lwarx and stwcx. make atomics, isync after the branch
 * on their outcome makes them acquire, lwsync before a store releases, hwsync orders everything. */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/arch.h"
#endif

#define LOCKCROSS_ISA "ppc64le"
#define LOCKCROSS_FLAVOUR "larx"
#define ARCH_ATOMIC_IS_FENCE 0
#define ARCH_WEAKLY_ORDERED 1
#define ARCH_HAS_PRIORITIES 1

/* A CAS, followed by `behind` if it succeeds. */
#define LOCKCROSS_CAS(name, behind)                                                                \
    static inline bool name(volatile uint32_t *p, uint32_t expected, uint32_t desired) {           \
        uint32_t seen;                                                                             \
        __asm__ volatile("1: lwarx %[seen], 0, %[p]\n\t"                                           \
                         "cmpw %[seen], %[expected]\n\t"                                           \
                         "bne- 2f\n\t"                                                             \
                         "stwcx. %[desired], 0, %[p]\n\t"                                          \
                         "bne- 1b\n\t" behind "\n"                                                 \
                         "2:"                                                                      \
                         : [seen] "=&r"(seen)                                                      \
                         : [p] "r"(p), [expected] "r"(expected), [desired] "r"(desired)            \
                         : "cc", "memory");                                                        \
        if (seen == expected)                                                                      \
            LATENCY_AFTER_ATOMIC(seen);                                                            \
        return seen == expected;                                                                   \
    }

/* Changes *p from `expected` to `desired`; returns whether it did. Acquires only then. */
LOCKCROSS_CAS(cas_acq_u32, "isync")

/* As cas_acq_u32, without ordering. */
LOCKCROSS_CAS(cas_rlx_u32, "")
#undef LOCKCROSS_CAS

/* As cas_acq_u32, and earlier accesses stay before it. */
static inline bool cas_acq_rel_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    __asm__ volatile("lwsync" ::: "memory");
    return cas_acq_u32(p, expected, desired);
}

/* The same, but it does not acquire. */
static inline bool cas_rel_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    __asm__ volatile("lwsync" ::: "memory");
    return cas_rlx_u32(p, expected, desired);
}

/* Behind `before`, changes *p by `operation`, given `value`, then does `behind`; returns the old
 * value. */
#define LOCKCROSS_FETCH(name, before, operation, behind)                                           \
    static inline uint32_t name(volatile uint32_t *p, uint32_t value) {                            \
        uint32_t seen, next;                                                                       \
        __asm__ volatile(before "1: lwarx %[seen], 0, %[p]\n\t" operation                          \
                                " %[next], %[seen], %[value]\n\t"                                  \
                                "stwcx. %[next], 0, %[p]\n\t"                                      \
                                "bne- 1b\n\t" behind                                               \
                         : [seen] "=&r"(seen), [next] "=&r"(next)                                  \
                         : [p] "r"(p), [value] "r"(value)                                          \
                         : "cc", "memory");                                                        \
        LATENCY_AFTER_ATOMIC(seen);                                                                \
        return seen;                                                                               \
    }
LOCKCROSS_FETCH(fetch_add_acq_rel_u32, "lwsync\n", "add", "isync")
LOCKCROSS_FETCH(fetch_add_rel_u32, "lwsync\n", "add", "")
LOCKCROSS_FETCH(fetch_set_acq_u32, "", "or", "isync")
#undef LOCKCROSS_FETCH

/* Replaces *p, then does `behind`; returns the old value. */
#define LOCKCROSS_SWAP(name, behind)                                                               \
    static inline uint32_t name(volatile uint32_t *p, uint32_t value) {                            \
        uint32_t seen;                                                                             \
        __asm__ volatile("lwsync\n"                                                                \
                         "1: lwarx %[seen], 0, %[p]\n\t"                                           \
                         "stwcx. %[value], 0, %[p]\n\t"                                            \
                         "bne- 1b\n\t" behind                                                      \
                         : [seen] "=&r"(seen)                                                      \
                         : [p] "r"(p), [value] "r"(value)                                          \
                         : "cc", "memory");                                                        \
        LATENCY_AFTER_ATOMIC(seen);                                                                \
        return seen;                                                                               \
    }
LOCKCROSS_SWAP(swap_acq_rel_u32, "isync")
LOCKCROSS_SWAP(swap_rel_u32, "")
#undef LOCKCROSS_SWAP

/* The same of half a word, by the word around it: what POWER had before lharx. */
static inline uint16_t swap_acq_rel_u16(volatile uint16_t *p, uint16_t value) {
    volatile uint32_t *word = (volatile uint32_t *)((uintptr_t)p & ~(uintptr_t)3);
    uint32_t shift = ((uintptr_t)p & 2) * 8, mask = 0xffffu << shift, seen, next;
    __asm__ volatile("lwsync\n"
                     "1: lwarx %[seen], 0, %[word]\n\t"
                     "andc %[next], %[seen], %[mask]\n\t"
                     "or %[next], %[next], %[value]\n\t"
                     "stwcx. %[next], 0, %[word]\n\t"
                     "bne- 1b\n\t"
                     "isync"
                     : [seen] "=&r"(seen), [next] "=&r"(next)
                     : [word] "r"(word), [mask] "r"(mask), [value] "r"((uint32_t)value << shift)
                     : "cc", "memory");
    LATENCY_AFTER_ATOMIC(seen);
    return (uint16_t)(seen >> shift);
}

static inline void arch_fence_full(void) {
    __asm__ volatile("hwsync" ::: "memory");
    LATENCY_AFTER_FENCE();
}

/* The hint of a low-priority thread. */
static inline void cpu_relax(void) { __asm__ volatile("or 27, 27, 27" ::: "memory"); }

/* Very low priority, and medium high. */
static inline void cpu_lower_priority(void) { __asm__ volatile("or 31, 31, 31"); }
static inline void cpu_restore_priority(void) { __asm__ volatile("or 6, 6, 6"); }

/* Kinds beyond 6 are those below 20: from 27 on the registers have meanings of their own. */
static inline __attribute__((always_inline)) void arch_charge(charge_t kind) {
    __asm__ volatile("or %c[reg], %c[reg], %c[reg]" ::[reg] "i"(kind < 7 ? 20 + kind : 11 + kind)
                     : "memory");
}

/* The time base, in its own ticks. */
static inline uint64_t read_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mftb %0" : "=r"(ticks));
    return ticks;
}
