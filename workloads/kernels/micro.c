/* micro: a loop of `iterations` around what a processor is made of, for `./lockcross measure`. One
 * thread; its `pairs` are iterations of the loop.
 *
 * Of a dependent chain every turn has eight operations, each of which needs the result of the one
 * before, so the rest of the loop hides behind them:
 *   chase              loads through `kib` KiB of memory, one a line, in an unforeseeable order
 *   forward            a store of 8 bytes and a load of the same; forward_other: the load's address
 *                      is in another register; forward_contained: a load of 4 of them;
 *                      forward_fails: a store of 4 bytes and a load of the 8 around them;
 *                      forward_byte_fails: a store of a byte and a load of the 4 around it
 *   mul, div           64 bits
 *   moves              copies between two registers
 *   zeroes             a register made zero of itself, and a multiplication of it: where the core
 *                      knows that, no turn needs the one before
 *   cas, cas_lost, exchange, fetch_add    on one word that the core owns
 * Once a turn:
 *   adds_apart, muls_apart, loads_apart, stores_apart    96 of which none needs another's result;
 *                      the stores to one line, those of stores_lines to eight in turn;
 *                      mixed_apart: 60 additions and 36 loads
 *   branch_steady, branch_random    the same branch, on a bit that is never or at random set
 *   jumps, calls       eight jumps, each to the next; eight calls of a function that does nothing
 *   branches           a loop of `inner` turns of three dependent additions: as many branches, all
 *                      taken but for the last
 *   jumps_many         200 jumps; divisions: a chain of 20; divisions_jumps: the jumps behind it
 *   cas_apart          eight CAS on eight lines, of which none needs another's result
 *   width              96 no-ops
 *   fence_0 to fence_4 the fences of the instruction set, behind `stores` to as many lines; with op
 *                      empty the stores alone
 *   adds, loads        chains through the whole loop, of 48 additions or 20 loads a turn; cas_adds,
 *                      cas_loads, fence_adds and fence_loads the same behind a CAS or the full
 *                      fence, cas_once the CAS without them: so it shows what passes it
 *   cas_result         the additions, which need the CAS's result, as the next CAS needs theirs
 *   cas_nops, cas_stores    a CAS, and behind it 96 no-ops, or 8 stores to 8 lines
 *   adds_beside        192 additions of which none needs another's result, in eight chains;
 *                      cas_beside, exchange_beside: the same behind an atomic, which they hide
 *   stores_row         256 stores to a row of words; four_between, cas_between: the same behind
 *                      stores to four other lines, or behind a CAS; cas_twice_between: behind a
 * CAS, a load of its word, and a CAS that needs it cas_reload_adds    the additions, which need a
 * load of the CAS's word behind it, as the next CAS needs theirs cas_store, cas_reload    a CAS,
 * and behind it a store to another line, or a load of its word cas_own            a CAS, and behind
 * it a store to its word add_own            an atomic add, whose result is stored to its word,
 * eight times, each needs the one before pause              what a thread does that spins More than
 * 1024 KiB are there in programs for the host only. */
#define WORKLOAD_micro
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/processor.h"
#include "runtime/definition.h"
#include "runtime/marker.h"

#include "kernels/chase.h"
#include "kernels/instructions.h"

enum {
    CHAIN = 8,
    ADDS = 6 * CHAIN,
    LOADS = 20,
    KIB = 1024,
    OWN_KIB = 1024,
    APART = 8,
    ROW_WORDS = 256
};
static const uint64_t odd = 0x9e3779b97f4a7c15u, prime = 1000003, product = 1000003000009u;
static const uint64_t high = (uint64_t)5 << 32;
static const uint32_t upper = 0x12345600; /* bytes of a word, all but the least */
static uint64_t seed = 88172645463325252u;

static union {
    volatile uint64_t wide;
    volatile uint32_t half[2], value;
    volatile uint8_t byte;
} __attribute__((aligned(LOCK_LINE))) word;
static struct {
    volatile uint32_t value;
} __attribute__((aligned(LOCK_LINE))) apart[APART];
static chase_t own_lines[OWN_KIB * KIB / sizeof(chase_t)];
static chase_t *lines = own_lines;
static uint64_t count; /* of lines */
static uint64_t seen;  /* what the operations came to */
static volatile uint64_t row[ROW_WORDS] __attribute__((aligned(LOCK_LINE)));

#ifdef LOCKCROSS_NATIVE
#if defined(__x86_64__)
enum { SYS_BRK = 12, SYS_MADVISE = 28 };
#elif defined(__powerpc64__)
enum { SYS_BRK = 45, SYS_MADVISE = 205 };
#else
enum { SYS_BRK = 214, SYS_MADVISE = 233 };
#endif
enum { ADVICE_HUGE_PAGES = 14, HUGE_PAGE = 2 << 20 };

/* Memory from the system, in huge pages where it has them. NULL: there is not that much. */
static chase_t *system_lines(uint64_t bytes) {
    uint64_t start = (uint64_t)runtime_syscall(SYS_BRK, 0, 0, 0, 0, 0);
    start = (start + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint64_t end = start + bytes;
    if ((uint64_t)runtime_syscall(SYS_BRK, (long)end, 0, 0, 0, 0) < end)
        return 0;
    runtime_syscall(SYS_MADVISE, (long)start, (long)bytes, ADVICE_HUGE_PAGES, 0, 0);
    return (chase_t *)start; /* NOLINT */
}
#else
static chase_t *system_lines(uint64_t bytes) { return (void)bytes, (chase_t *)0; }
#endif

static const char *setup(void) {
    if (KEY(op) >= WORD_fence_0 + FENCES && KEY(op) <= WORD_fence_4)
        return "op: this instruction set has fewer fences";
    count = KEY(kib) * KIB / sizeof(chase_t);
    if (KEY(kib) > OWN_KIB)
        lines = system_lines(KEY(kib) * KIB);
    return lines ? 0 : "kib: there is not that much memory; more than 1024 takes the host itself";
}

/* The core owns what it works on before the region of interest. */
static void prepare(lock_thread_t *self) {
    (void)self;
    word.wide = 0;
    for (unsigned i = 0; i < APART; i++)
        apart[i].value = 0;
    chase_link(lines, count);
#ifdef LOCKCROSS_NATIVE
    seed ^= read_ticks() | 1; /* or a predictor learns the bits from run to run */
#endif
}

/* A loop for each operation, all of one shape. `i` counts up from 0. */
#define LOOP(operation)                                                                            \
    do {                                                                                           \
        for (uint32_t i = 0; i < iterations; i++) {                                                \
            operation;                                                                             \
            lock_safepoint(self);                                                                  \
        }                                                                                          \
    } while (0)
#define EIGHT(operation)                                                                           \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation

static void run_chase(lock_thread_t *self, uint32_t iterations) {
    const chase_t *line = lines;
    LOOP(EIGHT(line = line->next));
    seen = (uint64_t)(line - lines);
}

static void run_forward(lock_thread_t *self, uint32_t iterations) {
    volatile uint64_t *other = &word.wide;
    uint64_t x = prime;
    OPAQUE(other);
    switch (KEY(op)) {
    case WORD_forward:
        LOOP(EIGHT(word.wide = x; x = word.wide));
        break;
    case WORD_forward_other:
        LOOP(EIGHT(word.wide = x; x = *other));
        break;
    case WORD_forward_contained:
        LOOP(EIGHT(word.wide = x; x = word.half[0]));
        break;
    case WORD_forward_fails:
        word.wide = high;
        LOOP(EIGHT(word.half[0] = (uint32_t)x; x = word.wide));
        break;
    case WORD_forward_byte_fails:
        word.value = upper;
        LOOP(EIGHT(word.byte = (uint8_t)x; x = word.value));
        break;
    }
    seen = x;
}

static void run_arithmetic(lock_thread_t *self, uint32_t iterations) {
    uint64_t x = prime, factor = odd, dividend = product, other = 0;
    OPAQUE(factor);
    OPAQUE(dividend);
    switch (KEY(op)) {
    case WORD_mul:
        LOOP(EIGHT(x *= factor; OPAQUE(x)));
        break;
    case WORD_div:
        LOOP(EIGHT(x = dividend / x; OPAQUE(x)));
        break;
    case WORD_moves:
        LOOP(EIGHT(COPY(other, x); COPY(x, other)));
        break;
    case WORD_zeroes:
        LOOP(EIGHT(ZERO(x); x *= factor; OPAQUE(x)));
        break;
    }
    seen = x;
}

#define STORE(n) store_rlx_u32(&apart[n].value, i)
#define STORE_ALL                                                                                  \
    STORE(0);                                                                                      \
    STORE(1);                                                                                      \
    STORE(2);                                                                                      \
    STORE(3);                                                                                      \
    STORE(4);                                                                                      \
    STORE(5);                                                                                      \
    STORE(6);                                                                                      \
    STORE(7)
#define FOUR(operation)                                                                            \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation
#define TWELVE(operation)                                                                          \
    FOUR(operation);                                                                               \
    FOUR(operation);                                                                               \
    FOUR(operation)
#define EACH(operation)                                                                            \
    operation(a);                                                                                  \
    operation(b);                                                                                  \
    operation(c);                                                                                  \
    operation(d);                                                                                  \
    operation(e);                                                                                  \
    operation(f);                                                                                  \
    operation(g);                                                                                  \
    operation(h)
#define ADD_TO(x)                                                                                  \
    x += one;                                                                                      \
    OPAQUE(x)
#define LOAD (void)load_rlx_u32(&apart[0].value)
#define MULTIPLY(x)                                                                                \
    x *= one;                                                                                      \
    OPAQUE(x)

static void run_apart(lock_thread_t *self, uint32_t iterations) {
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, one = 1;
    OPAQUE(one);
    switch (KEY(op)) {
    case WORD_adds_apart:
        LOOP(TWELVE(EACH(ADD_TO)));
        break;
    case WORD_muls_apart:
        LOOP(TWELVE(EACH(MULTIPLY)));
        break;
    case WORD_mixed_apart:
        LOOP(TWELVE(ADD_TO(a); LOAD; ADD_TO(b); LOAD; ADD_TO(c); LOAD; ADD_TO(d); ADD_TO(e)));
        break;
    case WORD_loads_apart:
        LOOP(TWELVE(EIGHT(LOAD)));
        break;
    case WORD_stores_apart:
        LOOP(TWELVE(EIGHT(store_rlx_u32(&apart[0].value, i))));
        break;
    case WORD_stores_lines:
        LOOP(TWELVE(STORE_ALL));
        break;
    }
    seen = a + b + c + d + e + f + g + h + apart[0].value;
}

static uint64_t next_random(uint64_t state) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

__attribute__((noinline)) static void nothing(void) { __asm__ volatile(""); }

static void run_branch(lock_thread_t *self, uint32_t iterations) {
    uint64_t state = seed, taken = 0, mask = KEY(op) == WORD_branch_random;
    OPAQUE(mask);
    if (KEY(op) == WORD_jumps)
        LOOP(JUMPS(8));
    else if (KEY(op) == WORD_calls)
        LOOP(EIGHT(nothing()));
    if (KEY(op) == WORD_jumps || KEY(op) == WORD_calls)
        return;
    /* The no-op keeps the compiler from doing without a branch. */
    LOOP(state = next_random(state); if (state & mask) {
        NO_OPERATIONS(1);
        taken++;
    });
    seen = taken;
}

#define DIVIDE                                                                                     \
    x = dividend / x;                                                                              \
    OPAQUE(x)
#define DO_DIVISIONS                                                                               \
    TWELVE(DIVIDE);                                                                                \
    EIGHT(DIVIDE)
/* The branch needs what every turn before has counted, and so does the next loop: its end is known
 * late, and nothing but a prediction shortens that. */
#define DO_BRANCHES                                                                                \
    left += inner;                                                                                 \
    do {                                                                                           \
        ADD_TO(left);                                                                              \
        left -= one;                                                                               \
        OPAQUE(left);                                                                              \
        left -= one;                                                                               \
        OPAQUE(left);                                                                              \
    } while (left != 0)

/* Not in line: `run` would be longer than a branch of POWER reaches. */
__attribute__((noinline)) static void run_inner(lock_thread_t *self, uint32_t iterations) {
    uint64_t inner = KEY(inner), left = 0, one = 1, x = prime, dividend = product;
    OPAQUE(left);
    OPAQUE(one);
    OPAQUE(dividend);
    switch (KEY(op)) {
    case WORD_branches:
        LOOP(DO_BRANCHES);
        break;
    case WORD_divisions:
        LOOP(DO_DIVISIONS);
        break;
    case WORD_jumps_many:
        LOOP(JUMPS(200));
        break;
    case WORD_divisions_jumps:
        LOOP(DO_DIVISIONS; JUMPS(200));
        break;
    }
    seen = x;
}

static void run_atomic(lock_thread_t *self, uint32_t iterations) {
    uint32_t x = 0;
    switch (KEY(op)) {
    case WORD_cas:
        LOOP(EIGHT(x += cas_acq_u32(&word.value, x, x + 1)));
        seen = word.value;
        break;
    case WORD_cas_lost:
        LOOP(EIGHT(x += cas_acq_u32(&word.value, x + 1, x)));
        seen = x + word.value;
        break;
    case WORD_exchange:
        LOOP(EIGHT(x = swap_acq_rel_u32(&word.value, x + 1)));
        seen = x + word.value;
        break;
    case WORD_fetch_add:
        word.value = 1;
        LOOP(EIGHT(x = fetch_add_acq_rel_u32(&word.value, x)));
        seen = word.value;
        break;
    case WORD_add_own:
        word.value = 1;
        LOOP(EIGHT(store_rlx_u32(&word.value, fetch_add_acq_rel_u32(&word.value, 1))));
        seen = word.value;
        break;
    case WORD_cas_apart:
        LOOP(for (unsigned n = 0; n < APART; n++) x += cas_acq_u32(&apart[n].value, i, i + 1));
        seen = x;
        break;
    }
    seen = (uint32_t)seen;
}

#define FENCED(fence)                                                                              \
    do {                                                                                           \
        if (KEY(stores) == WORD_zero)                                                              \
            LOOP(ORDER(fence));                                                                    \
        else if (KEY(stores) == WORD_one)                                                          \
            LOOP(STORE(0); ORDER(fence));                                                          \
        else                                                                                       \
            LOOP(STORE(0); STORE(1); STORE(2); STORE(3); ORDER(fence));                            \
    } while (0)

static void run_fence(lock_thread_t *self, uint32_t iterations) {
    switch (KEY(op)) {
    case WORD_empty:
        FENCED("");
        break;
    case WORD_fence_0:
        FENCED(FENCE_0);
        break;
    case WORD_fence_1:
        FENCED(FENCE_1);
        break;
    case WORD_fence_2:
        FENCED(FENCE_2);
        break;
    case WORD_fence_3:
        FENCED(FENCE_3);
        break;
    case WORD_fence_4:
        FENCED(FENCE_4);
        break;
    }
    seen = apart[0].value;
}

#define SIX(operation)                                                                             \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation;                                                                                     \
    operation
#define DO_ADDS SIX(EIGHT(ADD_TO(sum)))
#define DO_LOADS FOUR(line = line->next->next->next->next->next)
#define DO_CAS won += cas_acq_u32(&word.value, won, won + 1)

static void run_overlap(lock_thread_t *self, uint32_t iterations) {
    uint64_t sum = 0, one = 1;
    uint32_t won = 0, none = 0;
    const chase_t *line = lines;
    OPAQUE(one);
    OPAQUE(none);
    switch (KEY(op)) {
    case WORD_adds:
        LOOP(DO_ADDS);
        break;
    case WORD_loads:
        LOOP(DO_LOADS);
        break;
    case WORD_cas_once:
        LOOP(DO_CAS);
        break;
    case WORD_cas_adds:
        LOOP(DO_CAS; DO_ADDS);
        break;
    case WORD_cas_loads:
        LOOP(DO_CAS; DO_LOADS);
        break;
    case WORD_cas_result:
        LOOP(DO_CAS; SIX(EIGHT(won += none; OPAQUE(won))));
        break;
    case WORD_cas_reload_adds:
        LOOP(DO_CAS; won = load_rlx_u32(&word.value); SIX(EIGHT(won += none; OPAQUE(won))));
        break;
    case WORD_cas_own:
        LOOP(won += cas_acq_u32(&word.value, 0, 1); store_rlx_u32(&word.value, 0));
        break;
    case WORD_cas_nops:
        LOOP(DO_CAS; NO_OPERATIONS(96));
        break;
    case WORD_cas_stores:
        LOOP(DO_CAS; STORE_ALL);
        break;
    case WORD_cas_store:
        LOOP(DO_CAS; store_rlx_u32(&apart[0].value, i));
        break;
    case WORD_cas_reload:
        LOOP(DO_CAS; (void)load_rlx_u32(&word.value));
        break;
    case WORD_fence_adds:
        LOOP(ORDER(FENCE_0); DO_ADDS);
        break;
    case WORD_fence_loads:
        LOOP(ORDER(FENCE_0); DO_LOADS);
        break;
    }
    seen = sum + won + (uint64_t)(line - lines);
}

#define DO_ADDS_APART                                                                              \
    TWELVE(EACH(ADD_TO));                                                                          \
    TWELVE(EACH(ADD_TO))
static void run_beside(lock_thread_t *self, uint32_t iterations) {
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, one = 1;
    OPAQUE(one);
    switch (KEY(op)) { /* what the atomics find is not looked at: nothing else takes a port */
    case WORD_adds_beside:
        LOOP(DO_ADDS_APART);
        break;
    case WORD_cas_beside:
        LOOP((void)cas_acq_u32(&word.value, 0, 0); DO_ADDS_APART);
        break;
    case WORD_exchange_beside:
        LOOP((void)swap_acq_rel_u32(&word.value, 0); DO_ADDS_APART);
        break;
    }
    seen = a + b + c + d + e + f + g + h;
}

#define DO_STORES_ROW                                                                              \
    at = row;                                                                                      \
    OPAQUE(at);                                                                                    \
    EIGHT(FOUR(EIGHT(*at++ = i)))
#define RELOAD_CAS                                                                                 \
    found = load_rlx_u32(&word.value);                                                             \
    won += cas_acq_u32(&word.value, found, found + 1)
/* Not in line, as run_inner. */
__attribute__((noinline)) static void run_between(lock_thread_t *self, uint32_t iterations) {
    volatile uint64_t *at = row;
    uint32_t won = 0, found;
    switch (KEY(op)) {
    case WORD_stores_row:
        LOOP(DO_STORES_ROW);
        break;
    case WORD_four_between:
        LOOP(STORE(0); STORE(1); STORE(2); STORE(3); DO_STORES_ROW);
        break;
    case WORD_cas_between:
        LOOP(RELOAD_CAS; DO_STORES_ROW);
        break;
    case WORD_cas_twice_between:
        LOOP(RELOAD_CAS; RELOAD_CAS; DO_STORES_ROW);
        break;
    }
    seen = won + row[ROW_WORDS - 1];
}

static void run_no_operations(lock_thread_t *self, uint32_t iterations) {
    if (KEY(op) == WORD_width)
        LOOP(NO_OPERATIONS(96));
    else
        LOOP(spin_wait(self));
}

static uint64_t run(lock_thread_t *self) {
    uint32_t iterations = (uint32_t)KEY(iterations);
    uint64_t op = KEY(op);
    if (op <= WORD_chase)
        run_chase(self, iterations);
    else if (op <= WORD_forward_byte_fails)
        run_forward(self, iterations);
    else if (op <= WORD_zeroes)
        run_arithmetic(self, iterations);
    else if (op <= WORD_stores_lines)
        run_apart(self, iterations);
    else if (op <= WORD_calls)
        run_branch(self, iterations);
    else if (op <= WORD_divisions_jumps)
        run_inner(self, iterations);
    else if (op <= WORD_cas_apart)
        run_atomic(self, iterations);
    else if (op <= WORD_fence_4)
        run_fence(self, iterations);
    else if (op <= WORD_fence_loads)
        run_overlap(self, iterations);
    else if (op <= WORD_exchange_beside)
        run_beside(self, iterations);
    else if (op <= WORD_cas_twice_between)
        run_between(self, iterations);
    else
        run_no_operations(self, iterations);
    return iterations;
}

/* The place after so many steps of a chase. */
static uint64_t place_after(uint64_t steps) {
    uint64_t place = 0;
    for (steps %= count; steps != 0; steps--)
        place = chase_behind(place, count);
    return place;
}

static uint64_t power_of_odd(uint64_t n) {
    uint64_t result = 1;
    for (uint64_t power = odd; n != 0; n /= 2, power *= power)
        result *= n % 2 ? power : 1;
    return result;
}

static uint64_t taken_at_random(uint64_t iterations) {
    uint64_t state = seed, taken = 0;
    for (; iterations != 0; iterations--) {
        state = next_random(state);
        taken += state & 1;
    }
    return taken;
}

/* After so many additions of a word's last two values. */
static uint32_t fibonacci(uint32_t steps) {
    uint32_t total = 1, last = 0;
    for (uint32_t sum; steps != 0; steps--)
        sum = total + last, last = total, total = sum;
    return total;
}

/* What the operations come to. Not in `run`, which is measured. */
static uint64_t expected(uint64_t iterations) {
    switch (KEY(op)) {
    case WORD_chase:
        return place_after(CHAIN * iterations);
    case WORD_forward:
    case WORD_forward_other:
    case WORD_forward_contained:
    case WORD_div:
    case WORD_moves:
    case WORD_branches:
    case WORD_jumps_many:
    case WORD_divisions:
    case WORD_divisions_jumps:
        return prime;
    case WORD_forward_byte_fails:
        return upper | (uint8_t)prime;
    case WORD_mixed_apart:
        return 12 * (uint64_t)5 * iterations;
    case WORD_add_own:
        return 1;
    case WORD_adds_apart:
        return 12 * (uint64_t)APART * iterations;
    case WORD_stores_apart:
    case WORD_stores_lines:
    case WORD_stores_row:
    case WORD_four_between:
        return iterations - 1;
    case WORD_cas_between:
        return 2 * iterations - 1;
    case WORD_cas_twice_between:
        return 3 * iterations - 1;
    case WORD_forward_fails:
        return high | prime;
    case WORD_mul:
        return prime * power_of_odd(CHAIN * iterations);
    case WORD_branch_random:
        return taken_at_random(iterations);
    case WORD_cas:
    case WORD_exchange:
    case WORD_cas_apart:
        return (uint32_t)(CHAIN * iterations);
    case WORD_fetch_add:
        return fibonacci((uint32_t)(CHAIN * iterations));
    case WORD_empty:
    case WORD_fence_0:
    case WORD_fence_1:
    case WORD_fence_2:
    case WORD_fence_3:
    case WORD_fence_4:
        return KEY(stores) == WORD_zero ? 0 : iterations - 1;
    case WORD_adds:
    case WORD_fence_adds:
        return ADDS * iterations;
    case WORD_loads:
    case WORD_fence_loads:
        return place_after(LOADS * iterations);
    case WORD_cas_once:
    case WORD_cas_result:
    case WORD_cas_reload_adds:
    case WORD_cas_own:
    case WORD_cas_nops:
    case WORD_cas_stores:
    case WORD_cas_store:
    case WORD_cas_reload:
        return iterations;
    case WORD_cas_adds:
        return (ADDS + 1) * iterations;
    case WORD_adds_beside:
    case WORD_cas_beside:
    case WORD_exchange_beside:
        return 24 * (uint64_t)APART * iterations;
    case WORD_cas_loads:
        return place_after(LOADS * iterations) + iterations;
    default:
        return 0;
    }
}

static const char *verify(uint64_t pairs) {
    bool right = pairs == KEY(iterations) && seen == expected(KEY(iterations));
    return right ? 0 : "the operations came to a wrong result";
}
