/* A number that threads wait for, on a cache line of its own: whose turn it is. */
#ifndef RUNTIME_TURN_H
#define RUNTIME_TURN_H
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/processor.h"

typedef struct {
    volatile uint32_t number;
} __attribute__((aligned(LOCK_LINE))) turn_t;

/* Waits until the turn is `number`. Safe meanwhile, so that others can cancel reservations. */
static inline void turn_await(turn_t *turn, lock_thread_t *self, uint32_t number) {
    handshake_enter_safe(self);
    while (load_acq_u32(&turn->number) != number)
        spin_wait(self);
    handshake_leave_safe(self);
}

/* Waits until the turn is `number` or a later one, for so many turns of a loop at most. Safe
 * meanwhile, too. */
static inline void turn_await_briefly(turn_t *turn, lock_thread_t *self, uint32_t number,
                                      uint32_t patience) {
    handshake_enter_safe(self);
    for (; patience != 0 && load_acq_u32(&turn->number) < number; patience--)
        spin_wait(self);
    handshake_leave_safe(self);
}

static inline void turn_pass(turn_t *turn, uint32_t number) {
    store_rel_u32(&turn->number, number);
}

#endif
