/*
 * Fence kind `full`: the store, the ISA's full fence, the load. Fence kind `lock_add`, x86-64: the
 * same with a locked addition to the stack for mfence. And fence kind `membarrier`, the light side
 * of an asymmetric fence: the same without the fence, in the order of the program as far as the
 * compiler goes; process_barrier.h has the heavy side.
 *
 * store_u8_then_load_acq_u32 and the functions whose names end in `_next` work on a pair of words,
 * p[0] and p[1], aligned to 8 bytes, as the fence kind store_forward requires. `at` counts bytes,
 * or half-words, from the least significant one. The functions with `_other` load any other place;
 * the fence kind store_forward does not have them.
 */
#ifndef LOCKCROSS_ARCH_H
#error "include arch/arch.h"
#endif

#if FENCE_IS_ASYMMETRIC
#define ORDER_STORE_LOAD() order_compiler()
#elif LOCKCROSS_FENCE == FENCE_LOCK_ADD
#define ORDER_STORE_LOAD() arch_fence_lock_add()
#else
#define ORDER_STORE_LOAD() arch_fence_full()
#endif

/* Stores byte `at` of p[0], then loads the whole of p[0] with acquire. */
static inline uint32_t store_u8_then_load_acq_u32(volatile uint32_t *p, unsigned at,
                                                  uint8_t value) {
    store_rlx_u8((volatile uint8_t *)p + at, value);
    ORDER_STORE_LOAD();
    return load_acq_u32(p);
}

/* Stores byte `at` of p[0] with release, then loads p[1]. */
static inline uint32_t store_rel_u8_then_load_next(volatile uint32_t *p, unsigned at,
                                                   uint8_t value) {
    store_rel_u8((volatile uint8_t *)p + at, value);
    ORDER_STORE_LOAD();
    return load_rlx_u32(p + 1);
}

/* Stores half-word `at` of p[0] with release, then loads p[1]. */
static inline uint32_t store_rel_u16_then_load_next(volatile uint32_t *p, unsigned at,
                                                    uint16_t value) {
    store_rel_u16((volatile uint16_t *)p + at, value);
    ORDER_STORE_LOAD();
    return load_rlx_u32(p + 1);
}

/* Stores p[0] with release, then loads p[1]. */
static inline uint32_t store_rel_u32_then_load_next(volatile uint32_t *p, uint32_t value) {
    store_rel_u32(p, value);
    ORDER_STORE_LOAD();
    return load_rlx_u32(p + 1);
}

/* Stores byte p, then loads q with acquire. */
static inline uint32_t store_u8_then_load_other_acq_u32(volatile uint8_t *p, uint8_t value,
                                                        const volatile uint32_t *q) {
    store_rlx_u8(p, value);
    ORDER_STORE_LOAD();
    return load_acq_u32(q);
}

/* Stores p, then loads q with acquire. */
static inline uint32_t store_u32_then_load_other_acq_u32(volatile uint32_t *p, uint32_t value,
                                                         const volatile uint32_t *q) {
    store_rlx_u32(p, value);
    ORDER_STORE_LOAD();
    return load_acq_u32(q);
}
#undef ORDER_STORE_LOAD
