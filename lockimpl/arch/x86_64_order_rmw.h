/*
 * Fence kind `rmw`, x86-64: the store itself is a locked read-modify-write (xchg locks without a
 * prefix), even of a byte or a half-word. That is one instruction instead of a store and a
 * `lock addl $0, (%rsp)`, and it touches no other line. arch/order_full.h describes the operations.
 */
#ifndef LOCKCROSS_ARCH_H
#error "include arch/arch.h"
#endif

#define LOCKCROSS_XCHG(bits, suffix)                                                               \
    static inline void arch_xchg_u##bits(volatile uint##bits##_t *p, uint##bits##_t value) {       \
        __asm__ volatile("xchg" suffix " %[value], %[place]"                                       \
                         : [value] "+q"(value), [place] "+m"(*p)                                   \
                         :                                                                         \
                         : "memory");                                                              \
        LATENCY_AFTER_ATOMIC(value);                                                               \
    }
LOCKCROSS_XCHG(8, "b")
LOCKCROSS_XCHG(16, "w")
LOCKCROSS_XCHG(32, "l")
#undef LOCKCROSS_XCHG

static inline uint32_t store_u8_then_load_acq_u32(volatile uint32_t *p, unsigned at,
                                                  uint8_t value) {
    arch_xchg_u8((volatile uint8_t *)p + at, value);
    return load_acq_u32(p);
}

static inline uint32_t store_rel_u8_then_load_next(volatile uint32_t *p, unsigned at,
                                                   uint8_t value) {
    arch_xchg_u8((volatile uint8_t *)p + at, value);
    return load_rlx_u32(p + 1);
}

static inline uint32_t store_rel_u16_then_load_next(volatile uint32_t *p, unsigned at,
                                                    uint16_t value) {
    arch_xchg_u16((volatile uint16_t *)p + at, value);
    return load_rlx_u32(p + 1);
}

static inline uint32_t store_rel_u32_then_load_next(volatile uint32_t *p, uint32_t value) {
    arch_xchg_u32(p, value);
    return load_rlx_u32(p + 1);
}

static inline uint32_t store_u8_then_load_other_acq_u32(volatile uint8_t *p, uint8_t value,
                                                        const volatile uint32_t *q) {
    arch_xchg_u8(p, value);
    return load_acq_u32(q);
}

static inline uint32_t store_u32_then_load_other_acq_u32(volatile uint32_t *p, uint32_t value,
                                                         const volatile uint32_t *q) {
    arch_xchg_u32(p, value);
    return load_acq_u32(q);
}
