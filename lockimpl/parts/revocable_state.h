/*
 * Open sections of the threads of revocable.h: which of them may be revoked, and the log of writes.
 * Welc et al. 2004, sections 2.2 and 3. TODO
 */
#ifndef LOCKCROSS_REVOCABLE_STATE_H
#define LOCKCROSS_REVOCABLE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "types.h"

#define REVOCABLE_DEPTH 32  /* open sections of a thread */
#define REVOCABLE_LOG 16384 /* writes of a thread in an outermost section */
#define REVOCABLE_SERIAL 0x200u
#define REVOCABLE_BUSY 0x100u
#define REVOCABLE_PINNED 0x0ffu

typedef struct {
    volatile uint64_t *address;
    uint64_t value;
} revocable_write_t;

typedef struct {
    /* Its own. */
    uint32_t depth; /* open sections */
    uint32_t used;  /* of the log */
    struct {
        lock_object_t *object;
        uint32_t mark;  /* where the log stood */
        bool outermost; /* of this thread on this monitor: its end frees it */
    } open[REVOCABLE_DEPTH];
    /* Other threads' too. */
    __attribute__((aligned(LOCK_LINE))) volatile uint32_t asked;
    volatile uint32_t state;
} __attribute__((aligned(LOCK_LINE))) revocable_thread_t;

extern revocable_thread_t revocable_threads[LOCK_MAX_THREADS];
extern revocable_write_t revocable_log[LOCK_MAX_THREADS][REVOCABLE_LOG];
#ifdef LOCKCROSS_STORAGE
revocable_thread_t revocable_threads[LOCK_MAX_THREADS];
revocable_write_t revocable_log[LOCK_MAX_THREADS][REVOCABLE_LOG];
#endif

static inline revocable_thread_t *revocable_thread(const lock_thread_t *thread) {
    return &revocable_threads[thread->tid - 1];
}

/* `thread` shall look for a section to roll back; the mark R of that is set. */
static inline void revocable_ask(lock_thread_t *thread) {
    store_rel_u32(&revocable_thread(thread)->asked, 1);
}

/* The outermost `count` sections of the outermost section with this serial are not revocable, if
 * they are still open. Not while they are being rolled back. */
LOCK_SLOW void revocable_pin_sections(revocable_thread_t *thread, lock_thread_t *self,
                                      uint32_t serial, uint32_t count) {
    for (;;) {
        uint32_t state = load_acq_u32(&thread->state);
        if (((state ^ serial) & ~(REVOCABLE_BUSY | REVOCABLE_PINNED)) != 0)
            return;
        if (state & REVOCABLE_BUSY)
            spin_wait(self);
        else if ((state & REVOCABLE_PINNED) >= count ||
                 cas_acq_rel_u32(&thread->state, state, (state & ~REVOCABLE_PINNED) | count))
            return;
    }
}

/* All open sections of `self` are not revocable. */
static inline void revocable_pin(lock_thread_t *self) {
    revocable_thread_t *thread = revocable_thread(self);
    if (!LOCK_LIKELY(thread->depth == 0))
        revocable_pin_sections(thread, self, load_rlx_u32(&thread->state), thread->depth);
}

LOCK_SLOW void revocable_depend_slow(lock_object_t *obj, lock_thread_t *self, uint64_t mark) {
    uint32_t tid = (uint32_t)(mark >> 40);
    if (tid == 0 || tid == self->tid)
        return;
    revocable_pin_sections(&revocable_threads[tid - 1], self, (uint32_t)mark, mark >> 32 & 0xff);
    store_rlx_u64(&obj->extra[0], 0);
}

/* `self` has acquired a monitor; it may read what another thread wrote in a section still open. */
static inline void revocable_depend(lock_object_t *obj, lock_thread_t *self) {
    uint64_t mark = load_rlx_u64(&obj->extra[0]);
    if (!LOCK_LIKELY(mark == 0))
        revocable_depend_slow(obj, self, mark);
}

#endif
