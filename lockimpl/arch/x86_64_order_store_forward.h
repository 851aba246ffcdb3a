/*
 * Fence kind `store_forward`, x86-64: collocation (Kawachiya 2005, 6.4.3 and 6.4.5). The load is
 * wider than the store and covers it. If a store buffer can give a load only what a single store
 * holds, the load waits until the store is in the cache and then reads all its bytes there, so
 * nothing of it is older than the store. Not every x86-64 processor does this (lockimpl/README.md).
 * Store and load are one volatile asm, so that the compiler cannot forward the value itself.
 * arch/order_full.h describes the operations.
 */
#ifndef LOCKCROSS_ARCH_H
#error "include arch/arch.h"
#endif

static inline uint32_t store_u8_then_load_acq_u32(volatile uint32_t *p, unsigned at,
                                                  uint8_t value) {
    uint32_t word;
    __asm__ volatile("movb %[value], %[place]\n\t"
                     "movl %[whole], %[word]"
                     : [word] "=r"(word), [place] "=m"(((volatile uint8_t *)p)[at])
                     : [value] "qi"(value), [whole] "m"(*p)
                     : "memory");
    return word;
}

/* A narrow store by `instruction`, then the upper half of the pair at p. */
#define LOCKCROSS_STORE_THEN_LOAD_PAIR(instruction, store_to)                                      \
    uint64_t pair;                                                                                 \
    __asm__ volatile(instruction " %[value], %[place]\n\t"                                         \
                                 "movq %[whole], %[pair]"                                          \
                     : [pair] "=r"(pair), [place] "=m"(store_to)                                   \
                     : [value] "qi"(value), [whole] "m"(*(const volatile uint64_t *)p)             \
                     : "memory");                                                                  \
    return (uint32_t)(pair >> 32)

static inline uint32_t store_rel_u8_then_load_next(volatile uint32_t *p, unsigned at,
                                                   uint8_t value) {
    LOCKCROSS_STORE_THEN_LOAD_PAIR("movb", ((volatile uint8_t *)p)[at]);
}

static inline uint32_t store_rel_u16_then_load_next(volatile uint32_t *p, unsigned at,
                                                    uint16_t value) {
    LOCKCROSS_STORE_THEN_LOAD_PAIR("movw", ((volatile uint16_t *)p)[at]);
}

static inline uint32_t store_rel_u32_then_load_next(volatile uint32_t *p, uint32_t value) {
    LOCKCROSS_STORE_THEN_LOAD_PAIR("movl", *p);
}
#undef LOCKCROSS_STORE_THEN_LOAD_PAIR
