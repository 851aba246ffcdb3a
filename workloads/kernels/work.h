/* What a program does besides locking. An amount of work is in cycles of a core that does nothing
 * else, roughly: how long it really takes is what the workload takes without a lock.
 *
 *   adds         additions, each of which needs the one before
 *   adds_apart   four additions for each cycle, in four chains
 *   loads        two loads for each cycle, of lines in the nearest cache
 *   misses       a load for every 16 cycles, each of a line in the next cache, whose address the
 *                load before it had
 *   stores       a store for each cycle, eight to a line in the nearest cache
 *   branches     for every 16 cycles a branch that goes either way by chance, and additions
 *   calls        for every four cycles a call of a routine that returns at once
 *
 * The amounts vary: WORK_DRAWN of them, drawn from a seed between half and one and a half times
 * their mean, come in turn, each for WORK_PHASE sections. With one amount the loop of a benchmark
 * falls into step with the core, and a cycle of work more may cost or save twenty. Where each
 * section had an amount of its own, simple cores would predict the branches of the work itself
 * wrongly, and those of a program go the same way mostly.
 */
#ifndef KERNELS_WORK_H
#define KERNELS_WORK_H
#include <stdint.h>

#include "kernels/chase.h"
#include "lock.h"
#include "runtime/definition.h" /* WORD_adds to WORD_calls, of the kernel's key `kind` */
#include "runtime/runtime.h"

enum { WORK_DRAWN = 32, WORK_PHASE = 128 };
enum { WORK_LINES = 64 * 1024 / CHASE_LINE, WORK_WORDS = 1024 };

typedef struct {
    uint64_t sections; /* so far */
    uint64_t random;   /* of branches */
    chase_t *at;       /* of misses */
    volatile uint64_t words[WORK_WORDS];
} __attribute__((aligned(LOCK_LINE))) work_t;

static chase_t work_lines[WORK_LINES];
static work_t work_of[LOCK_MAX_THREADS];

/* Amounts with this mean, in pairs of one as much above as the other is below. */
static void work_draw(uint32_t amounts[WORK_DRAWN], uint64_t mean) {
    uint64_t random = (runtime_seed + 1) * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < WORK_DRAWN; i += 2) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t apart = (random >> 32) * (mean / 2 + 1) >> 32;
        amounts[i] = (uint32_t)(mean + apart);
        amounts[i + 1] = (uint32_t)(mean - apart);
    }
    for (unsigned i = WORK_DRAWN - 1; i > 0; i--) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t other = (random >> 32) * (i + 1) >> 32;
        uint32_t amount = amounts[i];
        amounts[i] = amounts[other];
        amounts[other] = amount;
    }
}

static void work_setup(uint64_t kind) {
    if (kind == WORD_misses)
        chase_link(work_lines, WORK_LINES);
    for (unsigned i = 0; i < LOCK_MAX_THREADS; i++) {
        work_of[i].random = (runtime_seed * LOCK_MAX_THREADS + i + 1) * 0x9e3779b97f4a7c15u;
        work_of[i].at = &work_lines[i * (WORK_LINES / LOCK_MAX_THREADS)];
    }
}

/* Straight code for amounts up to 256, in powers of two. With a loop, a core that has just learnt
 * how many turns it has would do much better than one that has just not. More straight code would
 * take seconds to compile. */
#define WORK_2(unit) unit unit
#define WORK_4(unit) WORK_2(unit) WORK_2(unit)
#define WORK_8(unit) WORK_4(unit) WORK_4(unit)
#define WORK_16(unit) WORK_8(unit) WORK_8(unit)
#define WORK_32(unit) WORK_16(unit) WORK_16(unit)
#define WORK_64(unit) WORK_32(unit) WORK_32(unit)
#define WORK_128(unit) WORK_64(unit) WORK_64(unit)
#define WORK_256(unit) WORK_128(unit) WORK_128(unit)
#define WORK_BIT(bit, these)                                                                       \
    if (units & bit) {                                                                             \
        these                                                                                      \
    }
#define WORK_UNITS(unit)                                                                           \
    for (uint64_t n = units / 256; n != 0; n--) {                                                  \
        WORK_256(unit)                                                                             \
    }                                                                                              \
    WORK_BIT(128, WORK_128(unit))                                                                  \
    WORK_BIT(64, WORK_64(unit))                                                                    \
    WORK_BIT(32, WORK_32(unit))                                                                    \
    WORK_BIT(16, WORK_16(unit))                                                                    \
    WORK_BIT(8, WORK_8(unit))                                                                      \
    WORK_BIT(4, WORK_4(unit))                                                                      \
    WORK_BIT(2, WORK_2(unit))                                                                      \
    WORK_BIT(1, unit)

#define WORK_ADD(sum)                                                                              \
    (sum)++;                                                                                       \
    __asm__ volatile("" : "+r"(sum));

static __attribute__((noinline)) void work_adds(uint64_t units) {
    uint64_t sum = 0;
    WORK_UNITS(WORK_ADD(sum))
}

static __attribute__((noinline)) void work_adds_apart(uint64_t units) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    WORK_UNITS(WORK_ADD(a) WORK_ADD(b) WORK_ADD(c) WORK_ADD(d))
}

static __attribute__((noinline)) void work_loads(work_t *work, uint64_t units) {
    WORK_UNITS((void)work->words[0]; (void)work->words[CHASE_LINE];)
}

static __attribute__((noinline)) void work_stores(work_t *work, uint64_t units) {
    for (; units > WORK_WORDS; units -= WORK_WORDS)
        for (unsigned i = 0; i < WORK_WORDS; i++)
            work->words[i] = units;
    volatile uint64_t *word = work->words;
    WORK_UNITS(*word++ = units;)
}

static __attribute__((noinline)) void work_misses(work_t *work, uint64_t units) {
    chase_t *at = work->at;
    WORK_UNITS(at = at->next;)
    work->at = at;
}

static __attribute__((noinline)) void work_branches(work_t *work, uint64_t units) {
    uint64_t random = work->random, sum = 0;
    for (; units != 0; units--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        if (random >> 63) {
            WORK_8(WORK_ADD(sum))
        } else {
            WORK_8(WORK_ADD(sum) __asm__ volatile("");)
        }
    }
    work->random = random;
}

static __attribute__((noinline)) uint64_t work_called(uint64_t sum) {
    WORK_ADD(sum)
    return sum;
}

static __attribute__((noinline)) void work_calls(uint64_t units) {
    uint64_t sum = 0;
    WORK_UNITS(sum = work_called(sum);)
}

/* The amount of the next section. */
static inline uint64_t work_next(const uint32_t amounts[WORK_DRAWN], const work_t *work) {
    return amounts[work->sections / WORK_PHASE % WORK_DRAWN];
}

/* So much work of a kind. */
static inline void work_do(uint64_t kind, work_t *work, uint64_t amount) {
    switch (kind) {
    case WORD_adds:
        return work_adds(amount);
    case WORD_adds_apart:
        return work_adds_apart(amount);
    case WORD_loads:
        return work_loads(work, amount);
    case WORD_misses:
        return work_misses(work, (amount + 8) / 16);
    case WORD_stores:
        return work_stores(work, amount);
    case WORD_branches:
        return work_branches(work, (amount + 8) / 16);
    default:
        return work_calls((amount + 2) / 4);
    }
}

#endif
