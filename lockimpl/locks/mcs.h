/*
 * mcs: the list-based queue lock of Mellor-Crummey and Scott 1991, section 2.4 (Algorithm 5);
 * Kawachiya 2005, section 6.4.4.
 *
 * The lock word names the last node of a queue. A thread acquires the lock by swapping the number
 * of its own node into it. If there was a node before, the thread links itself behind that one and
 * spins on its own node, which has a cache line to itself, until its predecessor passes the lock on
 * by one store. A release that sees no successor empties the queue by one CAS; if that fails, a
 * successor is about to link itself, and the release waits for it. First come, first served.
 *
 *    31                              0     31                              0
 *   +---------------------------------+   +---------------------------------+
 *   |  tail: a node's number, or 0    |   | the holder's node, or 0         |
 *   +---------------------------------+   +---------------------------------+
 *              lock word                              flag word
 *
 * In the paper the caller supplies the node to acquire and release. Here it comes from the thread's
 * own pool (record_pool.h), and the flag word, which only the holder writes, says which it is; so a
 * thread also knows whether it holds the lock. Numbers stand for pointers, which do not fit the
 * word. The node counts recursive acquisitions, which the paper does not have.
 *
 * Variant osq is the optimistic spin queue of Linux (kernel/locking/osq_lock.c) as Arm's lockhammer
 * runs it (ext/linux/osq_lock.h, revision 0732ea5), whose threads never leave the queue. It differs
 * in two ways. A release tries the CAS first, which fails where threads wait, and then swaps its
 * successor out of its node. And each turn of the wait reads the bound of turns, a variable beside
 * the tail: so all waiting threads share the tail's line. Here the flag word stands for that bound.
 */
#ifndef LOCKCROSS_MCS_H
#define LOCKCROSS_MCS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/record_pool.h"
#include "parts/without_wait.h"
#include "types.h"

typedef struct {
    volatile uint32_t next;   /* the successor's node, or 0; written by the successor */
    volatile uint32_t locked; /* cleared by the predecessor */
    uint32_t holds;           /* acquisitions of its thread */
} __attribute__((aligned(LOCK_LINE))) record_t;

RECORD_POOL(record_t)

enum { mcs_initial_word = 0, mcs_tid_shift = 0, mcs_misc_mask = 0 };

#define LOCK_WORD_IS_VALID(word) ((word) <= LOCK_MAX_THREADS * RECORDS_EACH)

#if LOCKCROSS_VARIANT_OSQ
LOCK_SLOW void osq_wait_in_queue(const lock_object_t *obj, uint32_t number, uint32_t predecessor,
                                 lock_thread_t *self) {
    store_rel_u32(&record_at(predecessor)->next, number);
    while (load_acq_u32(&record_at(number)->locked) != 0) {
        (void)load_rlx_u32(&obj->flag); /* the bound of turns */
        spin_wait(self);
    }
}
#else
LOCK_SLOW void mcs_wait_in_queue(record_t *node, uint32_t number, uint32_t predecessor,
                                 lock_thread_t *self) {
    /* wait for the predecessor, which finds the record by its `next` */
    store_rlx_u32(&node->locked, 1);
    store_rel_u32(&record_at(predecessor)->next, number);
    while (load_acq_u32(&node->locked) != 0)
        spin_wait(self);
}
#endif

static inline lock_result_t mcs_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t number = load_rlx_u32(&obj->flag);
    if (!LOCK_LIKELY(!record_is_mine(number, self))) {
        record_at(number)->holds++;
        return SUCCESS;
    }
    number = record_take(self);
    record_t *node = record_at(number);
    node->holds = 1;
    store_rlx_u32(&node->next, 0);
#if LOCKCROSS_VARIANT_OSQ
    store_rlx_u32(&node->locked, 1);
#endif
    /* become the tail; 0: nobody has the lock */
    uint32_t predecessor = swap_acq_rel_u32(&obj->lock_word, number);
    if (!LOCK_LIKELY(predecessor == 0))
#if LOCKCROSS_VARIANT_OSQ
        osq_wait_in_queue(obj, number, predecessor, self);
#else
        mcs_wait_in_queue(node, number, predecessor, self);
#endif
    store_rlx_u32(&obj->flag, number);
    return SUCCESS;
}

LOCK_SLOW void mcs_await_successor(record_t *node, lock_thread_t *self) {
    uint32_t next;
    while ((next = load_acq_u32(&node->next)) == 0)
        spin_wait(self);
    store_rel_u32(&record_at(next)->locked, 0);
}

static inline lock_result_t mcs_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t number = load_rlx_u32(&obj->flag);
    if (!LOCK_LIKELY(record_is_mine(number, self)))
        return ILLEGAL_STATE;
    record_t *node = record_at(number);
    if (!LOCK_LIKELY(--node->holds == 0))
        return SUCCESS;
    store_rlx_u32(&obj->flag, 0);
#if LOCKCROSS_VARIANT_OSQ
    if (LOCK_LIKELY(cas_rel_u32(&obj->lock_word, number, 0)))
        return SUCCESS;
    uint32_t next = swap_acq_rel_u32(&node->next, 0);
    if (next == 0)
        mcs_await_successor(node, self);
    else
        store_rel_u32(&record_at(next)->locked, 0);
#else
    uint32_t next = load_acq_u32(&node->next);
    if (next != 0)
        store_rel_u32(&record_at(next)->locked, 0);
    else if (!LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, number, 0)))
        mcs_await_successor(node, self);
#endif
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(mcs)

static inline bool mcs_is_idle(lock_object_t *obj) { return obj->lock_word == 0 && obj->flag == 0; }

#endif
