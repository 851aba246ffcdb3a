/*
 * ticket: the ticket lock of Mellor-Crummey and Scott 1991, section 2.2 (Algorithm 2).
 *
 * A thread that comes draws the next ticket by one atomic addition, and has the lock when its
 * ticket is served. The holder releases it by serving the next one, which takes a store, since
 * nobody else writes that number. First come, first served; all that wait watch one word.
 *
 *    31                              0     31                              0
 *   +---------------------------------+   +---------------------------------+
 *   |         the next ticket         |   |        the ticket served        |
 *   +---------------------------------+   +---------------------------------+
 *              lock word                              flag word
 *    63                              32 31             24 23               0
 *   +----------------------------------+-----------------+------------------+
 *   |                                  |  holder's tid   | its recursions   |
 *   +----------------------------------+-----------------+------------------+
 *                               extra[0], written by the holder alone
 *
 * Both tickets wrap around. Where the algorithm is silent: it has no recursion and no owner. Where
 * it differs: it lets a thread pause between two looks for as long as there are threads before it;
 * here a thread looks again and again, as in the ticket lock that Linux had.
 */
#ifndef LOCKCROSS_TICKET_H
#define LOCKCROSS_TICKET_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/without_wait.h"
#include "types.h"

enum { ticket_initial_word = 0, ticket_tid_shift = 24, ticket_misc_mask = 0 };

static inline volatile uint32_t *ticket_holder(lock_object_t *obj) {
    return (volatile uint32_t *)&obj->extra[0];
}

static inline bool ticket_is_mine(uint32_t holder, const lock_thread_t *self) {
    return holder >> ticket_tid_shift == self->tid;
}

LOCK_SLOW void ticket_await(lock_object_t *obj, lock_thread_t *self, uint32_t ticket) {
    while (load_acq_u32(&obj->flag) != ticket)
        spin_wait(self);
}

static inline lock_result_t ticket_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t holder = load_rlx_u32(ticket_holder(obj));
    if (!LOCK_LIKELY(!ticket_is_mine(holder, self))) {
        store_rlx_u32(ticket_holder(obj), holder + 1);
        return SUCCESS;
    }
    /* draw a ticket; what the section sees is ordered by the look at the one that is served */
    uint32_t ticket = fetch_add_rel_u32(&obj->lock_word, 1);
    if (!LOCK_LIKELY(load_acq_u32(&obj->flag) == ticket))
        ticket_await(obj, self, ticket);
    store_rlx_u32(ticket_holder(obj), self->tid_field);
    return SUCCESS;
}

static inline lock_result_t ticket_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t holder = load_rlx_u32(ticket_holder(obj));
    if (!LOCK_LIKELY(ticket_is_mine(holder, self)))
        return ILLEGAL_STATE;
    if (!LOCK_LIKELY(holder == self->tid_field)) {
        store_rlx_u32(ticket_holder(obj), holder - 1);
        return SUCCESS;
    }
    store_rlx_u32(ticket_holder(obj), 0);
    /* serve the next ticket; the section is visible before it */
    store_rel_u32(&obj->flag, load_rlx_u32(&obj->flag) + 1);
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(ticket)

static inline bool ticket_is_idle(lock_object_t *obj) {
    return obj->lock_word == obj->flag && *ticket_holder(obj) == 0;
}

#endif
