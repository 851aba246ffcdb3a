/*
 * qspinlock: the queued spin lock of the Linux kernel, read in torvalds/linux,
 * kernel/locking/qspinlock.c and include/asm-generic/qspinlock.h.
 *
 * A CAS acquires it, and the store of a byte releases it, whoever waits. The first contender needs
 * no node: it says by `pending` that it comes next, spins until the locked byte is zero, and takes
 * the lock by one store to both bytes. Whoever finds that byte set or a queue queues as in mcs:
 * each spins on a node of its own. Only the head of the queue looks at the lock word. Once nobody
 * holds the lock or is pending, it takes the lock, empties the queue by a CAS if it is alone in it,
 * and else makes its successor the head. So no node is kept while the lock is held. Nobody parks.
 * Threads are served in the order in which they show in the word, but for one case on x86-64, where
 * no instruction sets a bit and returns the whole word: a thread that has set `pending` goes behind
 * one that queues before it looks.
 *
 *    31                   16 15       8 7        0
 *   +-----------------------+----------+----------+
 *   | tail: tid, or 0       | pending  | locked   |   0: free
 *   +-----------------------+----------+----------+
 *
 * `pending` is set by an atomic that cannot fail, and cleared again where a queue was there
 * already; the tail is put in by an exchange of half the word, as with fewer than 16,384
 * processors.
 *
 * Choices: each thread has one node, since it waits for one lock at a time and nothing interrupts
 * it; Linux has four for each processor. That the node is cleared before it is queued, linked and
 * found is ordered by release and acquire, in Linux by a barrier and an address dependency. How
 * long a thread waits for one that is about to take the lock is the choice of x86; Linux for
 * AArch64 looks once, and waits by WFE. On POWER it is the lock of Linux 5.9 to 6.1: from 6.2 POWER
 * has a queued lock of its own (arch/powerpc/lib/qspinlock.c). Left out: the forms for guests of a
 * hypervisor. The original knows no holder and does not nest: parts/plain_mutex.h.
 */
#ifndef LOCKCROSS_QSPINLOCK_H
#define LOCKCROSS_QSPINLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "parts/bounded_spin.h"
#include "parts/plain_mutex.h"
#include "types.h"

#define QSPIN_LOCKED 0x00000001u
#define QSPIN_PENDING 0x00000100u
#define QSPIN_LOCKED_PENDING (QSPIN_LOCKED | QSPIN_PENDING)
#define QSPIN_TAIL_SHIFT 16
#define QSPIN_LOOKS SMALL_IN_MODEL(512u, 1u) /* at a lock that is about to be taken */

#define LOCK_WORD_IS_VALID(word)                                                                   \
    ((word) >> QSPIN_TAIL_SHIFT <= LOCK_MAX_THREADS && ((word) & 0xfefeu) == 0)

typedef struct {
    volatile uint32_t next;    /* tid of the successor, or 0; written by the successor */
    volatile uint32_t is_head; /* set by the predecessor */
} __attribute__((aligned(LOCK_LINE))) qspin_node_t;

extern qspin_node_t qspin_nodes[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
qspin_node_t qspin_nodes[LOCK_MAX_THREADS];
#endif

static inline qspin_node_t *qspin_node(uint32_t tid) { return &qspin_nodes[tid - 1]; }

static inline volatile uint8_t *qspin_locked(lock_object_t *obj) {
    return (volatile uint8_t *)&obj->lock_word;
}

static inline volatile uint8_t *qspin_pending(lock_object_t *obj) { return qspin_locked(obj) + 1; }

static inline volatile uint16_t *qspin_locked_and_pending(lock_object_t *obj) {
    return (volatile uint16_t *)&obj->lock_word;
}

static inline volatile uint16_t *qspin_tail(lock_object_t *obj) {
    return qspin_locked_and_pending(obj) + 1;
}

/* The word, once nobody is about to take the lock from its predecessor, or after some time. */
static inline uint32_t qspin_look(const lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    for (uint32_t turns = QSPIN_LOOKS; word == QSPIN_PENDING && turns != 0; turns--) {
        bounded_spin();
        word = load_rlx_u32(&obj->lock_word);
    }
    return word;
}

/* Acquires a lock for which no other thread waits. False: one does. */
static inline bool qspin_lock_without_node(lock_object_t *obj, lock_thread_t *self) {
    if (qspin_look(obj) & ~QSPIN_LOCKED)
        return false;
    uint32_t word = fetch_set_acq_u32(&obj->lock_word, QSPIN_PENDING);
    if (word & ~QSPIN_LOCKED) {
        if (!(word & QSPIN_PENDING))
            store_rlx_u8(qspin_pending(obj), 0);
        return false;
    }
    if (word != 0)
        while (load_acq_u8(qspin_locked(obj)) != 0)
            spin_wait(self);
    store_rlx_u16(qspin_locked_and_pending(obj), QSPIN_LOCKED);
    return true;
}

/* Queues behind `predecessor` and waits until that is served, so that `self` is the head. */
static inline void qspin_await_head(qspin_node_t *node, uint32_t predecessor, lock_thread_t *self) {
    store_rel_u32(&qspin_node(predecessor)->next, self->tid);
    while (load_acq_u32(&node->is_head) == 0)
        spin_wait(self);
}

/* At the head of the queue: acquires the lock. Returns whether another thread is queued. */
static inline bool qspin_lock_as_head(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word;
    while ((word = load_acq_u32(&obj->lock_word)) & QSPIN_LOCKED_PENDING)
        spin_wait(self);
    if (word >> QSPIN_TAIL_SHIFT == self->tid && cas_rlx_u32(&obj->lock_word, word, QSPIN_LOCKED))
        return false;
    store_rlx_u8(qspin_locked(obj), QSPIN_LOCKED);
    return true;
}

/* Makes the successor of `node` the head of the queue. */
static inline void qspin_pass_head(const qspin_node_t *node, lock_thread_t *self) {
    uint32_t next;
    while ((next = load_acq_u32(&node->next)) == 0)
        spin_wait(self);
    store_rel_u32(&qspin_node(next)->is_head, 1);
}

LOCK_SLOW void qspin_lock_slow(lock_object_t *obj, lock_thread_t *self) {
    if (qspin_lock_without_node(obj, self))
        return;
    qspin_node_t *node = qspin_node(self->tid);
    store_rlx_u32(&node->next, 0);
    store_rlx_u32(&node->is_head, 0);
    if (load_rlx_u32(&obj->lock_word) == 0 && cas_acq_u32(&obj->lock_word, 0, QSPIN_LOCKED))
        return;
    uint32_t predecessor = swap_acq_rel_u16(qspin_tail(obj), (uint16_t)self->tid);
    if (predecessor != 0)
        qspin_await_head(node, predecessor, self);
    if (qspin_lock_as_head(obj, self))
        qspin_pass_head(node, self);
}

static inline void qspinlock_lock(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, QSPIN_LOCKED)))
        qspin_lock_slow(obj, self);
}

static inline void qspinlock_unlock(lock_object_t *obj) { store_rel_u8(qspin_locked(obj), 0); }

PLAIN_MUTEX(qspinlock)

#endif
