/*
 * The primitives for model checkers (proofs/README.md): each is the C11 atomic of exactly the order
 * that its name promises, and no more. A program that is compiled for a model is analysed, not run,
 * so it has no instruction set; there are two flavours:
 *
 *   MODEL_WEAK   what POWER and AArch64 may rely on: an atomic is no fence
 *   MODEL_TSO    what x86-64 may rely on, under total store order: every atomic is a full fence.
 *                Fence kind `rmw` is a locked exchange, `store_forward` a narrow store and a load
 *                that covers it, as in x86_64_order_rmw.h and x86_64_order_store_forward.h.
 *                `lock_add` would be `full` again: a locked addition of nothing is a full fence
 *
 * A failed CAS orders nothing in MODEL_WEAK. order_compiler does nothing: checkers keep the order
 * of the program's accesses and reorder them themselves. Costs do nothing.
 */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/arch.h"
#endif

#define MODEL_WEAK 1
#define MODEL_TSO 2

#define LOCKCROSS_ISA "model"
#if LOCKCROSS_MODEL == MODEL_TSO
#define LOCKCROSS_FLAVOUR "tso"
#define ARCH_ATOMIC_IS_FENCE 1
#define ARCH_WEAKLY_ORDERED 0
#define MODEL_ORDER(weak) __ATOMIC_SEQ_CST
#elif LOCKCROSS_MODEL == MODEL_WEAK
#define LOCKCROSS_FLAVOUR "weak"
#define ARCH_ATOMIC_IS_FENCE 0
#define ARCH_WEAKLY_ORDERED 1
#define MODEL_ORDER(weak) weak
#else
#error "LOCKCROSS_MODEL must be MODEL_WEAK or MODEL_TSO"
#endif

/* Defined by the checker. One turn of a waiting loop: what the loop reads must change before it can
 * go on. And: this execution is longer than the bound, nobody looks at it any further. */
void prove_wait(void);
void prove_beyond_bound(void);

#define MODEL_CAS(name, weak)                                                                      \
    static inline bool name(volatile uint32_t *p, uint32_t expected, uint32_t desired) {           \
        return __atomic_compare_exchange_n(p, &expected, desired, false, MODEL_ORDER(weak),        \
                                           MODEL_ORDER(__ATOMIC_RELAXED));                         \
    }
MODEL_CAS(cas_acq_u32, __ATOMIC_ACQUIRE)
MODEL_CAS(cas_acq_rel_u32, __ATOMIC_ACQ_REL)
MODEL_CAS(cas_rel_u32, __ATOMIC_RELEASE)
MODEL_CAS(cas_rlx_u32, __ATOMIC_RELAXED)
#undef MODEL_CAS

#define MODEL_RMW(name, bits, operation, weak)                                                     \
    static inline uint##bits##_t name(volatile uint##bits##_t *p, uint##bits##_t value) {          \
        return __atomic_##operation(p, value, MODEL_ORDER(weak));                                  \
    }
MODEL_RMW(fetch_add_acq_rel_u32, 32, fetch_add, __ATOMIC_ACQ_REL)
MODEL_RMW(fetch_add_rel_u32, 32, fetch_add, __ATOMIC_RELEASE)
MODEL_RMW(swap_acq_rel_u32, 32, exchange_n, __ATOMIC_ACQ_REL)
MODEL_RMW(swap_rel_u32, 32, exchange_n, __ATOMIC_RELEASE)
#if LOCKCROSS_MODEL == MODEL_TSO
MODEL_RMW(swap_acq_rel_u16, 16, exchange_n, __ATOMIC_ACQ_REL)
/* As x86_64.h has it: the other bits are loaded behind it. */
static inline uint32_t fetch_set_acq_u32(volatile uint32_t *p, uint32_t bit) {
    uint32_t was_set = __atomic_fetch_or(p, bit, __ATOMIC_SEQ_CST) & bit;
    return (load_rlx_u32(p) & ~bit) | was_set;
}
#else
MODEL_RMW(fetch_set_acq_u32, 32, fetch_or, __ATOMIC_ACQUIRE)
/* Later loads see the rest of the word no older than it was at the swap: AArch64's stores reach all
 * threads at once, and POWER's instructions are of the word. An update that changes nothing says
 * so. */
static inline uint16_t swap_acq_rel_u16(volatile uint16_t *p, uint16_t value) {
    uint16_t seen = __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL);
    __atomic_fetch_or((volatile uint32_t *)((uintptr_t)p & ~(uintptr_t)3), 0, __ATOMIC_RELAXED);
    return seen;
}
#endif
#undef MODEL_RMW

static inline void arch_fence_full(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

static inline void cpu_relax(void) { prove_wait(); }

static inline void arch_charge(charge_t kind) { (void)kind; }

/* The operations of order_full.h for the other fence kinds, which need total store order: after
 * MODEL_STORE, a load of the place itself, or of the pair of words around it. */
#if LOCKCROSS_FENCE != FENCE_FULL && !FENCE_IS_ASYMMETRIC
#if LOCKCROSS_MODEL != MODEL_TSO
#error "fence kinds rmw and store_forward need x86-64's memory model; this model lacks them"
#elif LOCKCROSS_FENCE == FENCE_RMW
#define MODEL_STORE(p, value) ((void)__atomic_exchange_n(p, value, __ATOMIC_SEQ_CST))
static inline uint32_t model_load_next(const volatile uint32_t *p) { return load_rlx_u32(p + 1); }
#else
#define MODEL_STORE(p, value) __atomic_store_n(p, value, __ATOMIC_RELAXED)
static inline uint32_t model_load_next(const volatile uint32_t *p) {
    return (uint32_t)(load_rlx_u64((const volatile uint64_t *)p) >> 32);
}
#endif

static inline uint32_t store_u8_then_load_acq_u32(volatile uint32_t *p, unsigned at,
                                                  uint8_t value) {
    MODEL_STORE((volatile uint8_t *)p + at, value);
    return load_acq_u32(p);
}

static inline uint32_t store_rel_u8_then_load_next(volatile uint32_t *p, unsigned at,
                                                   uint8_t value) {
    MODEL_STORE((volatile uint8_t *)p + at, value);
    return model_load_next(p);
}

static inline uint32_t store_rel_u16_then_load_next(volatile uint32_t *p, unsigned at,
                                                    uint16_t value) {
    MODEL_STORE((volatile uint16_t *)p + at, value);
    return model_load_next(p);
}

static inline uint32_t store_rel_u32_then_load_next(volatile uint32_t *p, uint32_t value) {
    MODEL_STORE(p, value);
    return model_load_next(p);
}

#if LOCKCROSS_FENCE == FENCE_RMW
static inline uint32_t store_u8_then_load_other_acq_u32(volatile uint8_t *p, uint8_t value,
                                                        const volatile uint32_t *q) {
    MODEL_STORE(p, value);
    return load_acq_u32(q);
}

static inline uint32_t store_u32_then_load_other_acq_u32(volatile uint32_t *p, uint32_t value,
                                                         const volatile uint32_t *q) {
    MODEL_STORE(p, value);
    return load_acq_u32(q);
}
#endif
#undef MODEL_STORE
#endif
