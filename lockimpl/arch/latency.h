/*
 * Added latency, for simulators in which the cost of an atomic, a fence or an operating system's
 * service cannot be set (gem5-configs/README.md). A program is built with one mechanism each for
 * atomics, fences and charges. LATENCY_ENGINE, the default, adds no instruction and leaves the cost
 * to the engine.
 *
 *   quiesce   the core sleeps for that many cycles (an m5 operation; x86-64 and AArch64)
 *   sentinel  one instruction of an operation class that nothing else here uses, which waits for
 *             the operation's result; the simulator's configuration sets the latency of its class
 *   padding   a loop of that many turns, which waits for the operation's result
 *   chain     that many operations in a row, each of which waits for the one before, and the first
 *             for the operation's result; the number is compiled in, so there is no branch to
 *             mispredict
 *
 * Each ISA's latency_<isa>.h defines latency_pad, whose loop is aligned: one that lies in two fetch
 * blocks takes O3 twice as long. It also defines the instructions of sentinels and chains. POWER,
 * which has no others, defines latency_sentinel_atomic itself.
 */
#ifndef LOCKCROSS_LATENCY_H
#define LOCKCROSS_LATENCY_H

#include <stdint.h>

#define LATENCY_ENGINE 0
#define LATENCY_QUIESCE 1
#define LATENCY_SENTINEL 2
#define LATENCY_PADDING 3
#define LATENCY_CHAIN 4

#ifndef LOCKCROSS_ATOMIC_LATENCY
#define LOCKCROSS_ATOMIC_LATENCY LATENCY_ENGINE
#endif
#ifndef LOCKCROSS_FENCE_LATENCY
#define LOCKCROSS_FENCE_LATENCY LATENCY_ENGINE
#endif
#ifndef LOCKCROSS_CHARGE_LATENCY
#define LOCKCROSS_CHARGE_LATENCY LATENCY_ENGINE
#endif
#if LOCKCROSS_CHARGE_LATENCY != LATENCY_ENGINE && LOCKCROSS_CHARGE_LATENCY != LATENCY_PADDING
#error "a charge is the engine's or padding: it may be longer than any one instruction"
#endif
#define LATENCY_ADDED                                                                              \
    (LOCKCROSS_ATOMIC_LATENCY || LOCKCROSS_FENCE_LATENCY || LOCKCROSS_CHARGE_LATENCY)

#if LATENCY_ADDED
/* The program's arguments: cycles for quiesce, turns for padding; unused for a sentinel. */
typedef struct {
    uint64_t atomic, fence, charge[9]; /* by the kind of charge */
} latency_amounts_t;
extern latency_amounts_t latency_amounts;

#if defined(__x86_64__)
#include "arch/latency_x86_64.h"
#elif defined(__powerpc64__)
#include "arch/latency_ppc64le.h"
#else
#include "arch/latency_aarch64.h"
#endif

#include "arch/m5.h"
#if LOCKCROSS_HAS_M5
static inline __attribute__((always_inline)) void latency_quiesce(uint64_t cycles) {
    m5_quiesce_cycles(cycles);
}

static inline void latency_sentinel_atomic(uint64_t after) {
    LATENCY_SENTINEL_OPERATION(LATENCY_SENTINEL_OF_ATOMIC, after);
}

static inline void latency_sentinel_fence(uint64_t after) {
    LATENCY_SENTINEL_OPERATION(LATENCY_SENTINEL_OF_FENCE, after);
}

/* `count` operations in a row that begin when `after` is known. */
#define LATENCY_CHAIN_OF(count, after)                                                             \
    do {                                                                                           \
        uint64_t latency_value_ = (after);                                                         \
        __asm__ volatile(".rept %c[turns]\n\t" LATENCY_CHAIN_LINK "\n\t.endr"                      \
                         : [value] "+r"(latency_value_)                                            \
                         : [turns] "i"(count)                                                      \
                         : "cc", "memory");                                                        \
    } while (0)
#endif
#endif

/* What follows an atomic that returned `seen`. */
#if LOCKCROSS_ATOMIC_LATENCY == LATENCY_QUIESCE
#define LATENCY_AFTER_ATOMIC(seen) latency_quiesce(latency_amounts.atomic)
#elif LOCKCROSS_ATOMIC_LATENCY == LATENCY_SENTINEL
#define LATENCY_AFTER_ATOMIC(seen) latency_sentinel_atomic(seen)
#elif LOCKCROSS_ATOMIC_LATENCY == LATENCY_CHAIN
#define LATENCY_AFTER_ATOMIC(seen) LATENCY_CHAIN_OF(LOCKCROSS_ATOMIC_CHAIN, (seen))
#elif LOCKCROSS_ATOMIC_LATENCY == LATENCY_PADDING
#define LATENCY_AFTER_ATOMIC(seen) latency_pad(latency_amounts.atomic, (seen))
#else
#define LATENCY_AFTER_ATOMIC(seen) ((void)0)
#endif

#if LOCKCROSS_FENCE_LATENCY != LATENCY_ENGINE
/* Loads a word of this thread's own after the fence, for a sentinel or padding to wait for. */
static inline uint32_t latency_load_behind_fence(void) {
    volatile uint32_t own = 0;
    return own;
}
#endif

#if LOCKCROSS_FENCE_LATENCY == LATENCY_QUIESCE
#define LATENCY_AFTER_FENCE() latency_quiesce(latency_amounts.fence)
#elif LOCKCROSS_FENCE_LATENCY == LATENCY_SENTINEL
#define LATENCY_AFTER_FENCE() latency_sentinel_fence(latency_load_behind_fence())
#elif LOCKCROSS_FENCE_LATENCY == LATENCY_CHAIN
#define LATENCY_AFTER_FENCE() LATENCY_CHAIN_OF(LOCKCROSS_FENCE_CHAIN, latency_load_behind_fence())
#elif LOCKCROSS_FENCE_LATENCY == LATENCY_PADDING
#define LATENCY_AFTER_FENCE() latency_pad(latency_amounts.fence, latency_load_behind_fence())
#else
#define LATENCY_AFTER_FENCE() ((void)0)
#endif

#endif
