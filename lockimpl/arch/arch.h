/*
 * Memory primitives of the lock algorithms. Their names carry their ordering:
 *
 *   rlx   no ordering
 *   acq   later accesses stay behind it
 *   rel   earlier accesses stay before it
 *   a_then_b  a, then b, in program order for every observer, even if a stores and b loads
 *   a_then_fence, a_after_fence  the same for all later, or all earlier, accesses
 *
 * Algorithms include this file alone. It chooses one file for the ISA and its atomic flavour, which
 * defines the atomics (`cas_acq_u32`, `cas_acq_rel_u32`, `cas_rel_u32`, `cas_rlx_u32`,
 * `fetch_add_acq_rel_u32`, `fetch_add_rel_u32`, `fetch_set_acq_u32`, `swap_acq_rel_u32`,
 * `swap_rel_u32`, `swap_acq_rel_u16`), the full fence, `cpu_relax`, `arch_charge` and `read_ticks`,
 * the priority of a processor's threads, where they have one (ARCH_HAS_PRIORITIES), whether an
 * atomic orders like a full fence
 * (ARCH_ATOMIC_IS_FENCE), whether acquire and release take more than plain loads and stores
 * (ARCH_WEAKLY_ORDERED), and its name (LOCKCROSS_ISA, LOCKCROSS_FLAVOUR). A program for a model
 * checker (-DLOCKCROSS_MODEL) gets arch/model.h in place of them. Loads and stores of one to eight
 * bytes are the compiler's own atomics, which are single instructions here and never calls:
 *
 *            load_acq                  store_rel       full fence
 *   x86_64   mov                       mov             mfence
 *   ppc64le  load, cmp, bne-, isync    lwsync, store   hwsync
 *   aarch64  ldar                      stlr            dmb ish
 */
#ifndef LOCKCROSS_ARCH_H
#define LOCKCROSS_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Fence kinds (docs/interfaces.md, section 1): how `..._then_load...` keeps its order. */
#define FENCE_FULL 1
#define FENCE_RMW 2
#define FENCE_STORE_FORWARD 4
#define FENCE_MEMBARRIER 8
#define FENCE_LOCK_ADD 16

#ifndef LOCKCROSS_FENCE
#error "LOCKCROSS_FENCE must be one of FENCE_FULL, _RMW, _STORE_FORWARD, _MEMBARRIER, _LOCK_ADD"
#endif

/* Whether `..._then_load...` is the light side of an asymmetric fence alone, which no processor
 * sees: then the thread on the other side calls process_barrier between its store and its load. */
#define FENCE_IS_ASYMMETRIC (LOCKCROSS_FENCE == FENCE_MEMBARRIER)

/* Costs of what an operating system does; each is a reserved no-op (docs/interfaces.md, 5). */
typedef enum {
    CHARGE_STOP = 0, /* of a thread that runs */
    CHARGE_PARK = 1,
    CHARGE_UNPARK = 2,
    CHARGE_WAKE = 3,
    CHARGE_SWITCH = 4,
    CHARGE_YIELD = 6 /* 5 is a process-wide barrier, which a system call asks for */
} charge_t;
/* Stops of a thread that waits, and of one that has ended. Models, which know no costs, are without
 * them: as macros they leave the programs of the proofs as they are. */
#define CHARGE_STOP_BLOCKED ((charge_t)7)
#define CHARGE_STOP_ENDED ((charge_t)8)

/* Keeps the compiler, but not the processor, from moving memory accesses across this point. */
static inline void order_compiler(void) {
#ifndef LOCKCROSS_MODEL
    __asm__ volatile("" ::: "memory");
#endif
}

#define LOCKCROSS_ACCESSORS(bits)                                                                  \
    static inline uint##bits##_t load_rlx_u##bits(const volatile uint##bits##_t *p) {              \
        return __atomic_load_n(p, __ATOMIC_RELAXED);                                               \
    }                                                                                              \
    static inline uint##bits##_t load_acq_u##bits(const volatile uint##bits##_t *p) {              \
        return __atomic_load_n(p, __ATOMIC_ACQUIRE);                                               \
    }                                                                                              \
    static inline void store_rlx_u##bits(volatile uint##bits##_t *p, uint##bits##_t value) {       \
        __atomic_store_n(p, value, __ATOMIC_RELAXED);                                              \
    }                                                                                              \
    static inline void store_rel_u##bits(volatile uint##bits##_t *p, uint##bits##_t value) {       \
        __atomic_store_n(p, value, __ATOMIC_RELEASE);                                              \
    }
LOCKCROSS_ACCESSORS(8)
LOCKCROSS_ACCESSORS(16)
LOCKCROSS_ACCESSORS(32)
LOCKCROSS_ACCESSORS(64)
#undef LOCKCROSS_ACCESSORS

/* Stores a pointer that other threads may load meanwhile. It is one store instruction; as the
 * compiler's atomic it would count as more code, and make other programs. */
#ifdef LOCKCROSS_MODEL
#define STORE_RLX_POINTER(p, value) __atomic_store_n(p, value, __ATOMIC_RELAXED)
#else
#define STORE_RLX_POINTER(p, value) (*(__typeof__(*(p)) volatile *)(p) = (value))
#endif

#include "arch/latency.h"

#define LOCKCROSS_ARCH_FILE
#if defined(LOCKCROSS_MODEL)
#include "arch/model.h"
#elif defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#include "arch/ppc64le.h"
#elif defined(__aarch64__) && defined(LOCKCROSS_LLSC)
#include "arch/aarch64_llsc.h"
#elif defined(__aarch64__)
#include "arch/aarch64_lse.h"
#else
#error "ISA without an arch file; there are x86_64, ppc64le and aarch64"
#endif
#undef LOCKCROSS_ARCH_FILE

#if LOCKCROSS_CHARGE_LATENCY == LATENCY_ENGINE
static inline __attribute__((always_inline)) void charge(charge_t kind) { arch_charge(kind); }
#else
/* Those that a simulator without charges of its own has. */
static inline void charge(charge_t kind) {
    if (kind <= CHARGE_WAKE || kind >= CHARGE_STOP_BLOCKED)
        latency_pad(latency_amounts.charge[kind], 0);
}
#endif

#if LOCKCROSS_FENCE == FENCE_FULL || LOCKCROSS_FENCE == FENCE_MEMBARRIER ||                        \
    (LOCKCROSS_FENCE == FENCE_LOCK_ADD && ARCH_ATOMIC_IS_FENCE)
#include "arch/order_full.h"
#elif defined(LOCKCROSS_MODEL)
/* arch/model.h has them. */
#elif !defined(__x86_64__)
/* The POWER and ARM memory models do not guarantee store-to-load order for accesses of different
 * sizes: a wide load may take its bytes from the store buffer and from memory at different times.
 * And an atomic read-modify-write orders nothing there, so it cannot be a cheaper fence. */
#error "fence kinds rmw, lock_add and store_forward need x86-64's memory model; this ISA lacks them"
#elif LOCKCROSS_FENCE == FENCE_RMW
#include "arch/x86_64_order_rmw.h"
#elif LOCKCROSS_FENCE == FENCE_STORE_FORWARD
#include "arch/x86_64_order_store_forward.h"
#else
#error "LOCKCROSS_FENCE must be one of FENCE_FULL, _RMW, _STORE_FORWARD, _MEMBARRIER, _LOCK_ADD"
#endif

/* An instruction that does nothing. */
static inline void cpu_nop(void) { __asm__ volatile("nop"); }

/* What a runtime whose spin loops are to be slow on every processor has in place of cpu_relax. */
#ifndef ARCH_HAS_PAUSE
static inline void cpu_pause(void) { cpu_relax(); }
#endif

#ifndef ARCH_HAS_PRIORITIES
#define ARCH_HAS_PRIORITIES 0
static inline void cpu_lower_priority(void) {}
static inline void cpu_restore_priority(void) {}
#endif

/* Stores, then the full fence whatever the fence kind: the store is performed before every later
 * access of this thread. For slow paths. */
static inline void store_then_fence_u32(volatile uint32_t *p, uint32_t value) {
    store_rlx_u32(p, value);
    arch_fence_full();
}

/* Stores to `p`, then loads `q` with acquire, with the full fence in between whatever the fence
 * kind. For slow paths. */
static inline uint32_t store_then_load_acq_u32(volatile uint32_t *p, uint32_t value,
                                               const volatile uint32_t *q) {
    store_then_fence_u32(p, value);
    return load_acq_u32(q);
}

/* The full fence whatever the fence kind, then a store, or a CAS that does not acquire: it is
 * performed after all earlier accesses of this thread. */
static inline void store_after_fence_u32(volatile uint32_t *p, uint32_t value) {
    arch_fence_full();
    store_rlx_u32(p, value);
}

static inline bool cas_after_fence_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    arch_fence_full();
    return cas_rlx_u32(p, expected, desired);
}

/* As cas_acq_u32; if it succeeds, it is performed before every later access of this thread,
 * whatever the fence kind: the full fence follows where an atomic is none. */
static inline bool cas_then_fence_u32(volatile uint32_t *p, uint32_t expected, uint32_t desired) {
    bool won = cas_acq_u32(p, expected, desired);
    if (!ARCH_ATOMIC_IS_FENCE && won)
        arch_fence_full();
    return won;
}

#if FENCE_IS_ASYMMETRIC
#include "arch/process_barrier.h"
#endif

#endif
