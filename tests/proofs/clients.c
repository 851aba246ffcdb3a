/* Clients that fail, or meet a bound, each in its way (test_checker.py): the threads of one are a
 * row of `bodies`, which its number, prove_parameter, chooses. */

#include <stdint.h>

#include "prove.h"

typedef struct {
    uint64_t low, high, more;
} triple_t;

static uint32_t x, y, word, plain;
static triple_t from = {1, 2, 3}, to;
static uint32_t *nowhere, *shared_local;

const unsigned prove_threads = 2;
void prove_setup(void) {
    word = 7;
    plain = 0;
}
static void store(uint32_t *p, uint32_t value) { __atomic_store_n(p, value, __ATOMIC_RELAXED); }
static uint32_t load(uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }

static void none(void) {}
static void assertion(void) { prove_assert(load(&word) == 8, "the word is 8"); }
static void fatal(void) { lock_fatal("it ends here"); }
static void wild(void) { *(volatile uint32_t *)nowhere = 1; }
static void endless(void) {
    while (*(volatile uint32_t *)&plain == 0) {
    }
}
static void stuck(void) {
    for (;;)
        __asm__ volatile("");
}
static void waits(void) {
    while (load(&x) == 0)
        prove_wait();
}
static void circles(void) {
    while (load(&x) == 0) {
        store(&y, 1);
        store(&y, 2);
        prove_wait();
    }
}
static void copies(void) {
    to = from;
    prove_assert(to.high == 2 && to.more == 3, "copied");
}
static void beyond(void) {
    for (unsigned i = 0; load(&x) == 0; i++)
        if (i == 2)
            prove_beyond_bound();
}
static void halts(void) {
    for (;;) {
        (void)load(&y);
        prove_wait();
    }
}
static void sets_once(void) { store(&x, 1); }
static void sets(void) {
    store(&x, 1);
    store(&x, 0);
}
static void large(void) {
    for (unsigned i = 0; i < 200; i++)
        store(&x, i);
}
static void floods(void) {
    for (unsigned i = 0; i < 300; i++)
        store(&x, i);
}
static void lends(void) {
    uint32_t local = 0;
    __atomic_store_n(&shared_local, &local, __ATOMIC_RELEASE);
}
static void borrows(void) {
    uint32_t *p = __atomic_load_n(&shared_local, __ATOMIC_ACQUIRE);
    if (p)
        store(p, 1);
}

static void (*const bodies[][2])(void) = {
    {assertion, none}, {fatal, none},       {wild, none},     {endless, none},
    {waits, none},     {circles, none},     {copies, none},   {beyond, none},
    {sets, none},      {large, large},      {lends, borrows}, {waits, sets},
    {stuck, none},     {beyond, sets_once}, {halts, beyond},  {floods, waits},
};
void prove_thread(unsigned index) { bodies[prove_parameter][index](); }
void prove_end(void) {}
void prove_invariant(void) { prove_assert(prove_parameter != 8 || x == 0, "x stays 0"); }
