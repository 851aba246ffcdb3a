/*
 * relaxed: the relaxed lock of Dice 2001, "Implementing Fast Java Monitors with Relaxed-Locks";
 * Kawachiya 2005, section 7.4 (one sentence: atomics at acquisitions only).
 *
 * From the paper: one word in the object header; one CAS to acquire and no atomic to release, if
 * nobody contends. A contender inflates the lock itself, on behalf of its holder. The release is a
 * load, a comparison and a plain store, so it may overwrite an inflation that came in between: this
 * race is accepted. The monitor is then stranded, no word names it; the threads that wait on it
 * notice that and begin again. Speculative deflation: a monitor that nobody needs is given up at
 * its last exit, even if other threads are on their way to it; they notice that too.
 *
 *    31 30           16 15        8 7        0
 *   +--+---------------+-----------+----------+
 *   |0 | tid           | count     | misc     |   flat; count = acquisitions - 1
 *   +--+---------------+-----------+----------+
 *   |1 | monitor index (23 bits)   | misc     |   inflated
 *   +--+---------------------------+----------+
 *   shape
 *
 * Why it is safe: a monitor is valid only while the word names it (named_monitor.h). The word
 * changes under the monitor's latch, except by the stale stores of the one thread that held the
 * flat lock when it was inflated. Until that thread has released the lock, in whichever form, the
 * monitor names it as its holder, so nobody else enters.
 *
 * The paper's abstract says what the lock does; how it does it is reconstructed here, after
 * HotSpot's monitors, which descend from it. Choices: the word has the thin lock's fields. The
 * thread that inflates is responsible for the monitor: until the holder has left it, that thread
 * looks at the word again and again, where a real system would wait for a limited time, and is
 * charged for one such wait; the others park. named_monitor.h says when a monitor is given up.
 *
 * No order is promised among threads that wait. The responsible thread is in no queue, so others
 * may pass it again and again; and when a monitor was stranded, all threads in its queue are woken,
 * which come back to its head in the reverse order. That no thread waits for ever is proved
 * (proofs/README.md), for a holder that leaves.
 */
#ifndef LOCKCROSS_RELAXED_H
#define LOCKCROSS_RELAXED_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "parts/named_monitor.h"
#include "types.h"

#define RELAXED_TID_SHIFT 16
#define RELAXED_COUNT 0x0000ff00u
#define RELAXED_COUNT_ONE 0x00000100u

enum {
    relaxed_initial_word = 0,
    relaxed_tid_shift = RELAXED_TID_SHIFT,
    relaxed_misc_mask = NAMED_MISC
};

/* What the diagram allows: a monitor of the pool; a holder; or a free lock, which has no count. */
static inline bool relaxed_word_is_valid(uint32_t word) {
    if (word & NAMED_SHAPE)
        return ((word & ~NAMED_SHAPE) >> 8) - 1 < MONITOR_POOL_SIZE;
    uint32_t tid = word >> RELAXED_TID_SHIFT;
    return tid ? tid <= LOCK_MAX_THREADS : (word & RELAXED_COUNT) == 0;
}
#define LOCK_WORD_IS_VALID(word) relaxed_word_is_valid(word)

static inline bool relaxed_is_free(uint32_t word) { return (word & ~NAMED_MISC) == 0; }

/* Whether the word says: flat, and held by `self`. */
static inline bool relaxed_is_mine(uint32_t word, const lock_thread_t *self) {
    return ((word ^ self->tid_field) & ~(RELAXED_COUNT | NAMED_MISC)) == 0;
}

/* With the latch held: turns the flat lock, held as `word` says, into the monitor. Fails if the
 * word has changed. */
static inline bool relaxed_inflate(lock_object_t *obj, monitor_t *monitor, uint32_t word) {
    store_rlx_u32(&monitor->holder, word >> RELAXED_TID_SHIFT);
    monitor->recursion = (word & RELAXED_COUNT) / RELAXED_COUNT_ONE + 1;
    return cas_acq_rel_u32(&obj->lock_word, word, named_word(monitor, word));
}

/* Called by the responsible thread, which has inflated the lock on behalf of `holder`: waits
 * outside the queue until `holder` has left the monitor, or the monitor is stranded; then it wakes
 * the whole queue. */
LOCK_SLOW void relaxed_watch(lock_object_t *obj, monitor_t *monitor, uint32_t holder,
                             lock_thread_t *self) {
    charge(CHARGE_PARK);
    while (load_acq_u32(&obj->lock_word) & NAMED_SHAPE && load_rlx_u32(&monitor->holder) == holder)
        spin_wait(self);
    latch_acquire(&monitor->latch);
    lock_thread_t *thread;
    while (!(load_rlx_u32(&obj->lock_word) & NAMED_SHAPE) && (thread = queue_take(&monitor->entry)))
        unpark(thread);
    latch_release(&monitor->latch);
    charge(CHARGE_WAKE);
}

/* One attempt of a thread that does not hold the lock, flat or through the monitor. If it has to
 * wait, it does so once and fails. */
static inline bool relaxed_try_enter(lock_object_t *obj, monitor_t *monitor, lock_thread_t *self,
                                     bool waited) {
    latch_acquire(&monitor->latch);
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (!(word & NAMED_SHAPE)) {
        bool free = relaxed_is_free(word);
        bool won = free ? cas_acq_u32(&obj->lock_word, word, word | self->tid_field)
                        : relaxed_inflate(obj, monitor, word);
        latch_release(&monitor->latch);
        if (won && !free)
            relaxed_watch(obj, monitor, word >> RELAXED_TID_SHIFT, self);
        return won && free;
    }
    return named_take(monitor, self, waited);
}

/* With the flat lock held by `self`: inflates it, unless a contender has done so. */
LOCK_SLOW monitor_t *relaxed_inflate_mine(lock_object_t *obj) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (!(word & NAMED_SHAPE))
        relaxed_inflate(obj, monitor, word);
    latch_release(&monitor->latch);
    return monitor;
}

LOCK_SLOW lock_result_t relaxed_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    for (bool waited = false;;) {
        uint32_t word = load_acq_u32(&obj->lock_word);
        if (relaxed_is_free(word)) {
            if (cas_acq_u32(&obj->lock_word, word, word | self->tid_field))
                return SUCCESS;
            continue;
        }
        monitor_t *monitor;
        if (relaxed_is_mine(word, self)) /* the count is full */
            monitor = relaxed_inflate_mine(obj);
        else
            monitor = word & NAMED_SHAPE ? named_monitor(word) : lookup_monitor(obj);
        if (relaxed_is_mine(word, self) || named_is_mine(word, self)) {
            monitor->recursion++;
            return SUCCESS;
        }
        if (relaxed_try_enter(obj, monitor, self, waited))
            return SUCCESS;
        waited = true;
    }
}

static inline lock_result_t relaxed_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (LOCK_LIKELY(relaxed_is_free(word))) {
        if (LOCK_LIKELY(cas_acq_u32(&obj->lock_word, word, word | self->tid_field)))
            return SUCCESS;
    } else if ((word ^ self->tid_field) < RELAXED_COUNT) { /* held by `self`, count not full */
        store_rlx_u32(&obj->lock_word, word + RELAXED_COUNT_ONE);
        return SUCCESS;
    }
    return relaxed_acquire_slow(obj, self);
}

static inline lock_result_t relaxed_release(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    uint32_t mine = word ^ self->tid_field;
    if (LOCK_LIKELY(mine <= NAMED_MISC)) {
        store_rel_u32(&obj->lock_word, mine);
        return SUCCESS;
    }
    if (mine <= (RELAXED_COUNT | NAMED_MISC)) {
        store_rlx_u32(&obj->lock_word, word - RELAXED_COUNT_ONE);
        return SUCCESS;
    }
    return named_release(obj, self, 0);
}

LOCK_SLOW lock_result_t relaxed_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (relaxed_is_mine(word, self))
        return named_wait(relaxed_inflate_mine(obj), self);
    return named_is_mine(word, self) ? named_wait(named_monitor(word), self) : ILLEGAL_STATE;
}

/* Flat, nobody can be waiting for a notification. */
static inline lock_result_t relaxed_notify(lock_object_t *obj, lock_thread_t *self,
                                           uint32_t limit) {
    uint32_t word = load_acq_u32(&obj->lock_word);
    if (word & NAMED_SHAPE)
        return monitor_notify(named_monitor(word), self, limit);
    return relaxed_is_mine(word, self) ? SUCCESS : ILLEGAL_STATE;
}

static inline bool relaxed_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & NAMED_SHAPE ? monitor_is_idle(named_monitor(word)) : relaxed_is_free(word);
}

#endif
