/*
 * The monitor of revocable.h, which describes its lock word: acquisition with the thread's
 * priority, prioritized queues, release by handing over. Welc et al. 2004, sections 2 and 3.
 */
#ifndef LOCKCROSS_REVOCABLE_MONITOR_H
#define LOCKCROSS_REVOCABLE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "types.h"

#define REVOCABLE_WAITERS 0x80000000u
#define REVOCABLE_ASKED 0x40000000u
#define REVOCABLE_PRIORITY_SHIFT 8
#define REVOCABLE_TID 0x000000ffu

#ifdef LOCKCROSS_VARIANT_UNMODIFIED
enum { REVOCABLE_REVOKES = 0 };
static inline void revocable_ask(lock_thread_t *thread) { (void)thread; }
static inline void revocable_pin(lock_thread_t *self) { (void)self; }
static inline void revocable_depend(lock_object_t *obj, lock_thread_t *self) {
    (void)obj, (void)self;
}
#else
enum { REVOCABLE_REVOKES = 1 };
#include "parts/revocable_state.h"
#endif

/* By thread: what it writes into a free lock word. Changed only while it holds nothing. */
typedef struct {
    uint32_t word;
} __attribute__((aligned(LOCK_LINE))) revocable_deposit_t;
extern revocable_deposit_t revocable_deposits[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
revocable_deposit_t revocable_deposits[LOCK_MAX_THREADS];
#endif

static inline uint32_t revocable_word(const lock_thread_t *thread) {
    return revocable_deposits[thread->tid - 1].word;
}

static inline uint32_t revocable_priority(uint32_t word) {
    return word >> REVOCABLE_PRIORITY_SHIFT & 0xff;
}

static inline void revocable_deposit(lock_thread_t *self, uint32_t priority) {
    revocable_deposits[self->tid - 1].word = self->tid | priority << REVOCABLE_PRIORITY_SHIFT;
}

/* What the diagram allows: threads queue, and ask, for a holder with a priority. */
static inline bool revocable_word_is_valid(uint32_t word) {
    uint32_t tid = word & REVOCABLE_TID;
    return tid == 0 ? word == 0
                    : tid <= LOCK_MAX_THREADS && revocable_priority(word) < PROCESSOR_PRIORITIES &&
                          (word & REVOCABLE_WAITERS || !(word & REVOCABLE_ASKED));
}
#define LOCK_WORD_IS_VALID(word) revocable_word_is_valid(word)

static inline bool revocable_is_mine(uint32_t word, const lock_thread_t *self) {
    return (word & REVOCABLE_TID) == self->tid;
}

/* Whether the holder in the word must give way to `self`. */
static inline bool revocable_is_inversion(uint32_t word, const lock_thread_t *self) {
    return REVOCABLE_REVOKES && revocable_priority(word) < revocable_priority(revocable_word(self));
}

/* With the latch held: queues a thread behind all of its priority and above. */
static inline void revocable_enqueue(monitor_t *monitor, lock_thread_t *thread) {
    uint32_t priority = revocable_priority(revocable_word(thread));
    lock_thread_t **link = &monitor->entry.head;
    while (*link && revocable_priority(revocable_word(*link)) >= priority)
        link = &(*link)->next;
    thread->next = *link;
    if (!*link)
        monitor->entry.tail = thread;
    *link = thread;
}

/* Marks a word that another thread holds, with R if that thread is of lower priority. Returns the
 * old word; 0: the lock was free, and `self` now holds it. */
static inline uint32_t revocable_mark(lock_object_t *obj, lock_thread_t *self) {
    for (;;) {
        uint32_t word = load_rlx_u32(&obj->lock_word);
        uint32_t marked = word | REVOCABLE_WAITERS;
        if (word == 0)
            marked = revocable_word(self);
        else if (revocable_is_inversion(word, self))
            marked |= REVOCABLE_ASKED;
        if (word == marked || cas_acq_rel_u32(&obj->lock_word, word, marked))
            return word;
    }
}

LOCK_SLOW void revocable_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (revocable_is_mine(word, self)) {
        store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) + 1);
        return;
    }
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    word = revocable_mark(obj, self);
    if (word != 0)
        revocable_enqueue(monitor, self);
    latch_release(&monitor->latch);
    if (word == 0)
        return;
    if (revocable_is_inversion(word, self))
        revocable_ask(&lock_threads[(word & REVOCABLE_TID) - 1]);
    park(self); /* until a release has made `self` the holder */
}

/* What a section and a plain acquisition have in common. */
static inline void revocable_take(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, revocable_word(self))))
        revocable_acquire_slow(obj, self);
    revocable_depend(obj, self);
}

/* The outermost release of a marked word. */
LOCK_SLOW void revocable_hand_over(lock_object_t *obj) {
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    lock_thread_t *next = queue_take(&monitor->entry);
    uint32_t mark = monitor->entry.head ? REVOCABLE_WAITERS : 0;
    store_rel_u32(&obj->lock_word, revocable_word(next) | mark);
    latch_release(&monitor->latch);
    unpark(next);
}

/* Undoes one acquisition of a monitor that `self` holds. */
static inline void revocable_give(lock_object_t *obj, lock_thread_t *self) {
    uint32_t recursions = load_rlx_u32(&obj->flag);
    if (!LOCK_LIKELY(recursions == 0))
        store_rlx_u32(&obj->flag, recursions - 1);
    else if (!LOCK_LIKELY(cas_acq_rel_u32(&obj->lock_word, revocable_word(self), 0)))
        revocable_hand_over(obj);
}

/* Leaves the monitor, which `self` holds, until `self` is notified and holds it again. */
LOCK_SLOW void revocable_leave(lock_object_t *obj, lock_thread_t *self) {
    uint32_t recursions = load_rlx_u32(&obj->flag);
    monitor_t *monitor = lookup_monitor(obj);
    latch_acquire(&monitor->latch);
    queue_append(&monitor->waiting, self);
    latch_release(&monitor->latch);
    store_rlx_u32(&obj->flag, 0);
    revocable_give(obj, self);
    park(self); /* until notify has queued it and a release has made it the holder */
    store_rlx_u32(&obj->flag, recursions);
    revocable_depend(obj, self);
}

#endif
