/* What both atomic flavours of AArch64 share: weakly ordered, multi-copy atomic; ldar acquires,
 * stlr releases, dmb ish orders everything. */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/arch.h"
#endif

#define LOCKCROSS_ISA "aarch64"
#define ARCH_ATOMIC_IS_FENCE 0
#define ARCH_WEAKLY_ORDERED 1

static inline void arch_fence_full(void) {
    __asm__ volatile("dmb ish" ::: "memory");
    LATENCY_AFTER_FENCE();
}

static inline void cpu_relax(void) { __asm__ volatile("yield" ::: "memory"); }

/* Most cores take `yield` for nothing; this one lets the pipeline run empty. */
static inline void cpu_pause(void) { __asm__ volatile("isb" ::: "memory"); }
#define ARCH_HAS_PAUSE 1

static inline __attribute__((always_inline)) void arch_charge(charge_t kind) {
    __asm__ volatile("hint #%c[hint]" ::[hint] "i"(112 + kind) : "memory");
}

/* The virtual counter, in its own ticks. */
static inline uint64_t read_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
