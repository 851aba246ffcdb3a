/*
 * Exponential back-off, the remedy that Kawachiya 2005, section 6.4.2, names (Anderson 1990) for
 * the livelock of a Dekker-style lock: two threads that set their flags, see each other's, and
 * reset their own may do so in step forever. Each wait is twice as long as the one before, up to a
 * limit, and differs by thread, since nothing in a simulator happens at random. The limit is longer
 * than a line takes between two cores even where a core runs through several turns in a cycle: a
 * shorter one left a pair of out-of-order cores in step forever.
 */
#ifndef LOCKCROSS_BACK_OFF_H
#define LOCKCROSS_BACK_OFF_H

#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "types.h"

#define BACK_OFF_DOUBLINGS 11
#define BACK_OFF_LONGEST 4096 /* turns */

/* Waits after another failure; `failures` counts them, from 0. In a model time does not pass: it is
 * a turn of a waiting loop. MODEL_BACK_OFFS bounds the failures for a checker that leaves out what
 * waits, and so would leave out what comes after a failure. */
#if defined(LOCKCROSS_MODEL) && defined(MODEL_BACK_OFFS)
static inline void back_off(lock_thread_t *self, uint32_t *failures) {
    (void)self;
    if (++*failures > MODEL_BACK_OFFS)
        prove_beyond_bound();
}
#elif defined(LOCKCROSS_MODEL)
static inline void back_off(lock_thread_t *self, uint32_t *failures) {
    (void)self;
    (void)failures;
    prove_wait();
}
#else
static inline void back_off(lock_thread_t *self, uint32_t *failures) {
    uint32_t turns = self->tid << *failures;
    for (turns = turns < BACK_OFF_LONGEST ? turns : BACK_OFF_LONGEST; turns != 0; turns--)
        spin_wait(self);
    if (*failures < BACK_OFF_DOUBLINGS)
        ++*failures;
}
#endif

#endif
