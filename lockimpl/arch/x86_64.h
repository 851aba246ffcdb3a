/* x86-64: total store order. Only a store and a later load of another place may be reordered. Plain
 * loads acquire and plain stores release; every locked instruction is a full fence. */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/arch.h"
#endif

#define LOCKCROSS_ISA "x86_64"
#define LOCKCROSS_FLAVOUR "lock"
#define ARCH_ATOMIC_IS_FENCE 1
#define ARCH_WEAKLY_ORDERED 0

/* Changes *p from `expected` to `desired`; returns whether it did. */
static inline bool cas_acq_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    bool won;
    __asm__ volatile("lock cmpxchgl %[desired], %[word]"
                     : "=@ccz"(won), [word] "+m"(*p), "+a"(expected)
                     : [desired] "r"(desired)
                     : "memory");
    LATENCY_AFTER_ATOMIC(won);
    return won;
}

/* A locked instruction orders both ways: there is no weaker one. */
static inline bool cas_acq_rel_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    return cas_acq_u32(p, expected, desired);
}

static inline bool cas_rel_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    return cas_acq_u32(p, expected, desired);
}

static inline bool cas_rlx_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    return cas_acq_u32(p, expected, desired);
}

/* Adds to *p; returns its old value. */
static inline uint32_t fetch_add_acq_rel_u32(volatile uint32_t *p, uint32_t add) {
    __asm__ volatile("lock xaddl %[add], %[word]" : [add] "+r"(add), [word] "+m"(*p) : : "memory");
    LATENCY_AFTER_ATOMIC(add);
    return add;
}

static inline uint32_t fetch_add_rel_u32(volatile uint32_t *p, uint32_t add) {
    return fetch_add_acq_rel_u32(p, add);
}

/* Replaces *p; returns its old value. xchg locks without a prefix. */
static inline uint32_t swap_acq_rel_u32(volatile uint32_t *p, uint32_t value) {
    __asm__ volatile("xchgl %[value], %[word]" : [value] "+r"(value), [word] "+m"(*p) : : "memory");
    LATENCY_AFTER_ATOMIC(value);
    return value;
}

static inline uint32_t swap_rel_u32(volatile uint32_t *p, uint32_t value) {
    return swap_acq_rel_u32(p, value);
}

static inline uint16_t swap_acq_rel_u16(volatile uint16_t *p, uint16_t value) {
    __asm__ volatile("xchgw %[value], %[half]" : [value] "+r"(value), [half] "+m"(*p) : : "memory");
    LATENCY_AFTER_ATOMIC(value);
    return value;
}

/* Sets one bit of *p; returns the old value, of which the other bits are loaded behind it: no
 * instruction returns all of them. */
static inline uint32_t fetch_set_acq_u32(volatile uint32_t *p, uint32_t bit) {
    bool was_set;
    __asm__ volatile("lock btsl %[at], %[word]"
                     : "=@ccc"(was_set), [word] "+m"(*p)
                     : [at] "Ir"(__builtin_ctz(bit))
                     : "memory");
    LATENCY_AFTER_ATOMIC(was_set);
    return (load_rlx_u32(p) & ~bit) | (was_set ? bit : 0);
}

static inline void arch_fence_full(void) {
    __asm__ volatile("mfence" ::: "memory");
    LATENCY_AFTER_FENCE();
}

/* What production uses for a full fence: a locked addition of nothing to a word of the stack, whose
 * line this core owns (HotSpot's StoreLoad, Linux's smp_mb). */
static inline void arch_fence_lock_add(void) {
    bool zero; /* of the sum, so that an added latency can begin behind it */
    __asm__ volatile("lock addl $0, (%%rsp)" : "=@ccz"(zero) : : "memory");
    LATENCY_AFTER_ATOMIC(zero);
}

static inline void cpu_relax(void) { __asm__ volatile("pause" ::: "memory"); }

/* nopl disp32(%rax) with the kind in the displacement. */
static inline __attribute__((always_inline)) void arch_charge(charge_t kind) {
    __asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t.long 0x4c580000 + %c[kind]" ::[kind] "i"(kind)
                     : "memory");
}

/* The time-stamp counter, in its own ticks. */
static inline uint64_t read_ticks(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
