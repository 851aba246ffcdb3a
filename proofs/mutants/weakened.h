/*
 * What is left of a primitive of arch/arch.h when one of its orders is taken away, where arch.h has
 * no such primitive. For mutants (sweeps/questions/prove/mutants), which are compiled with
 * `-include` of this file. Each is made of the compiler's own atomics, so it is the same in a model
 * and on a machine. In the names, `load` follows a store without a fence, `then_load` with one.
 */
#ifndef LOCKCROSS_WEAKENED_H
#define LOCKCROSS_WEAKENED_H

#include <stdbool.h>
#include <stdint.h>

#define WEAKENED(type) static inline __attribute__((unused)) type

WEAKENED(void) weakened_order_compiler(void) {}

WEAKENED(void) weakened_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* The fence behind a CAS that has succeeded, without the acquire of the CAS. */
WEAKENED(bool) weakened_cas_then_fence(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    bool won = __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
    if (won)
        weakened_fence();
    return won;
}

/* Of any size. */
#define weakened_swap_acq(p, value) __atomic_exchange_n(p, value, __ATOMIC_ACQUIRE)
#define weakened_swap_rel(p, value) __atomic_exchange_n(p, value, __ATOMIC_RELEASE)
#define weakened_swap_rlx(p, value) __atomic_exchange_n(p, value, __ATOMIC_RELAXED)
#define weakened_fetch_add_acq(p, add) __atomic_fetch_add(p, add, __ATOMIC_ACQUIRE)
#define weakened_fetch_add_rlx(p, add) __atomic_fetch_add(p, add, __ATOMIC_RELAXED)
#define weakened_fetch_set_rlx(p, bit) __atomic_fetch_or(p, bit, __ATOMIC_RELAXED)

/* A store to `p` and a load of `q`, with and without the fence between them. */
#define WEAKENED_STORE_LOAD(fence, store_order, load_order)                                        \
    __atomic_store_n(p, value, store_order);                                                       \
    fence;                                                                                         \
    return __atomic_load_n(q, load_order)

#define WEAKENED_OTHER(name, bits, fence, load_order)                                              \
    WEAKENED(uint32_t)                                                                             \
    name(volatile uint##bits##_t *p, uint##bits##_t value, const volatile uint32_t *q) {           \
        WEAKENED_STORE_LOAD(fence, __ATOMIC_RELAXED, load_order);                                  \
    }
WEAKENED_OTHER(weakened_store_load_acq, 32, (void)0, __ATOMIC_ACQUIRE)
WEAKENED_OTHER(weakened_store_then_load, 32, weakened_fence(), __ATOMIC_RELAXED)
WEAKENED_OTHER(weakened_store_u32_load_other_acq, 32, (void)0, __ATOMIC_ACQUIRE)
WEAKENED_OTHER(weakened_store_u32_then_load_other, 32, weakened_fence(), __ATOMIC_RELAXED)
WEAKENED_OTHER(weakened_store_u8_load_other_acq, 8, (void)0, __ATOMIC_ACQUIRE)
WEAKENED_OTHER(weakened_store_u8_then_load_other, 8, weakened_fence(), __ATOMIC_RELAXED)

/* Byte `at` of the word at `q`, then the word. */
#define WEAKENED_BYTE(name, fence, load_order)                                                     \
    WEAKENED(uint32_t) name(volatile uint32_t *q, unsigned at, uint8_t value) {                    \
        volatile uint8_t *p = (volatile uint8_t *)q + at;                                          \
        WEAKENED_STORE_LOAD(fence, __ATOMIC_RELAXED, load_order);                                  \
    }
WEAKENED_BYTE(weakened_store_u8_load_acq, (void)0, __ATOMIC_ACQUIRE)
WEAKENED_BYTE(weakened_store_u8_then_load, weakened_fence(), __ATOMIC_RELAXED)

/* Part `at` of the word at `word`, then the next word. */
#define WEAKENED_NEXT(name, bits, fence, store_order)                                              \
    WEAKENED(uint32_t) name(volatile uint32_t *word, unsigned at, uint##bits##_t value) {          \
        volatile uint##bits##_t *p = (volatile uint##bits##_t *)word + at;                         \
        const volatile uint32_t *q = word + 1;                                                     \
        WEAKENED_STORE_LOAD(fence, store_order, __ATOMIC_RELAXED);                                 \
    }
WEAKENED_NEXT(weakened_store_rel_u8_load_next, 8, (void)0, __ATOMIC_RELEASE)
WEAKENED_NEXT(weakened_store_u8_then_load_next, 8, weakened_fence(), __ATOMIC_RELAXED)
WEAKENED_NEXT(weakened_store_rel_u16_load_next, 16, (void)0, __ATOMIC_RELEASE)
WEAKENED_NEXT(weakened_store_u16_then_load_next, 16, weakened_fence(), __ATOMIC_RELAXED)

WEAKENED(uint32_t) weakened_store_rel_u32_load_next(volatile uint32_t *p, uint32_t value) {
    const volatile uint32_t *q = p + 1;
    WEAKENED_STORE_LOAD((void)0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

WEAKENED(uint32_t) weakened_store_u32_then_load_next(volatile uint32_t *p, uint32_t value) {
    const volatile uint32_t *q = p + 1;
    WEAKENED_STORE_LOAD(weakened_fence(), __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#undef WEAKENED_STORE_LOAD
#undef WEAKENED_OTHER
#undef WEAKENED_BYTE
#undef WEAKENED_NEXT
#undef WEAKENED
#endif
