/*
 * Sections of the lock `revocable` that can be rolled back: Welc et al. 2004, sections 2.2 and 3.
 * Which of them may be revoked is in revocable_state.h.
 *
 * At a poll the holder looks for the outermost of its open sections that it is asked to roll back
 * and that may be. It restores the log in reverse down to where that section began, before it
 * releases anything, then releases the monitors of the section and of those inside it, and poll
 * reports that.
 *
 * Where the source is silent: the roll-back is a result of poll instead of an exception; the
 * program returns to the section's begin.
 */
#ifndef LOCKCROSS_REVOCABLE_SECTIONS_H
#define LOCKCROSS_REVOCABLE_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "monitor/processor.h"
#include "parts/revocable_monitor.h"
#include "parts/revocable_state.h"
#include "safepoint.h"
#include "types.h"

/* The index of the section that is to be rolled back, or `depth`. */
static inline uint32_t revocable_find(const revocable_thread_t *thread, uint32_t pinned) {
    uint32_t i = pinned;
    while (i < thread->depth &&
           !(thread->open[i].outermost &&
             load_rlx_u32(&thread->open[i].object->lock_word) & REVOCABLE_ASKED))
        i++;
    return i;
}

/* Undoes the writes in the log from `mark` on, the last one first. */
static inline void revocable_restore(const lock_thread_t *self, uint32_t mark) {
    revocable_thread_t *thread = revocable_thread(self);
    while (thread->used > mark)
        revocable_undo(&revocable_log[self->tid - 1][--thread->used]);
}

/* What a poll does when it was asked: returns whether it has rolled a section back. */
LOCK_SLOW bool revocable_roll_back(lock_thread_t *self) {
    revocable_thread_t *thread = revocable_thread(self);
    cas_acq_rel_u32(&thread->asked, 1, 0); /* reads from the last that asked, so it sees its R */
    uint32_t state, target;
    do {
        state = load_acq_u32(&thread->state);
        target = revocable_find(thread, state & REVOCABLE_PINNED);
        if (target >= thread->depth)
            return false;
    } while (!cas_acq_rel_u32(&thread->state, state, state | REVOCABLE_BUSY));
    revocable_restore(self, thread->open[target].mark);
    store_rel_u32(&thread->state, state);
    while (thread->depth > target)
        revocable_give(thread->open[--thread->depth].object, self);
    return true;
}

/* The API of section.h ------------------------------------------------------------------------ */

#define LOCK_HAS_SECTIONS 1

typedef struct {
    lock_object_t *object;
    uint32_t index; /* how many sections enclose it */
    uint32_t waits; /* how often it has waited as the only open section */
} lock_section_t;

/* A thread that was asked while it was parked yields at its next yield point, whatever is left of
 * its slice. */
static inline void revocable_yield_soon(lock_thread_t *self) {
#ifdef LOCKCROSS_SCHEDULER
    if (!LOCK_LIKELY(load_rlx_u32(&revocable_thread(self)->asked) == 0))
        self->slice &= ~SLICE_RUNNING;
#else
    (void)self;
#endif
}

static inline lock_result_t lock_section_begin(lock_section_t *section, lock_object_t *obj,
                                               lock_thread_t *self) {
    revocable_thread_t *thread = revocable_thread(self);
    revocable_take(obj, self);
    uint32_t depth = thread->depth;
    if (depth == 0) /* nothing of the section before can be pinned any more */
        store_rel_u32(&thread->state,
                      (load_rlx_u32(&thread->state) & ~REVOCABLE_PINNED) + REVOCABLE_SERIAL);
    else if (depth == REVOCABLE_DEPTH)
        lock_fatal("too many nested sections");
    if (section->object != obj)
        section->waits = 0;
    section->object = obj;
    section->index = depth;
    thread->open[depth].object = obj;
    thread->open[depth].mark = thread->used;
    thread->open[depth].outermost = load_rlx_u32(&obj->flag) == 0;
    thread->depth = depth + 1;
    revocable_yield_soon(self);
    return SUCCESS;
}

static inline bool lock_section_is_open(const lock_section_t *section, const lock_thread_t *self) {
    return section->index < revocable_thread(self)->depth;
}

/* With `depth` sections left open: at most those are pinned, and the next thread that acquires the
 * monitor depends on them. */
LOCK_SLOW void revocable_end_nested(lock_object_t *obj, lock_thread_t *self, uint32_t depth) {
    revocable_thread_t *thread = revocable_thread(self);
    uint32_t state = load_rlx_u32(&thread->state);
    while ((state & REVOCABLE_PINNED) > depth &&
           !cas_acq_rel_u32(&thread->state, state, (state & ~REVOCABLE_PINNED) | depth))
        state = load_rlx_u32(&thread->state);
    if (thread->used > thread->open[0].mark)
        store_rlx_u64(&obj->extra[0], (uint64_t)self->tid << 40 | (uint64_t)depth << 32 |
                                          (state & ~(REVOCABLE_BUSY | REVOCABLE_PINNED)));
}

static inline lock_result_t lock_section_end(lock_section_t *section, lock_thread_t *self) {
    revocable_thread_t *thread = revocable_thread(self);
    thread->depth = section->index;
    if (LOCK_LIKELY(section->index == 0))
        thread->used = 0;
    else
        revocable_end_nested(section->object, self, section->index);
    lock_object_t *obj = section->object;
    section->object = 0;
    revocable_give(obj, self);
    return SUCCESS;
}

/* The write barrier. */
static inline void lock_section_write(lock_thread_t *self, volatile uint64_t *p, uint64_t value) {
    revocable_thread_t *thread = revocable_thread(self);
    if (LOCK_LIKELY(thread->depth != 0)) {
        if (!LOCK_LIKELY(thread->used < REVOCABLE_LOG))
            lock_fatal("the log of a section is full");
        revocable_note(&revocable_log[self->tid - 1][thread->used++], p, load_rlx_u64(p));
    }
    store_rlx_u64(p, value);
}

static inline void lock_section_write_volatile(lock_thread_t *self, volatile uint64_t *p,
                                               uint64_t value) {
    revocable_pin(self);
    store_rel_u64(p, value);
}

static inline void lock_section_native(lock_thread_t *self) { revocable_pin(self); }

static inline lock_result_t lock_section_wait(lock_section_t *section, lock_thread_t *self) {
    revocable_thread_t *thread = revocable_thread(self);
    if (thread->depth > 1)
        revocable_pin(self);
    else {
        thread->used = 0;
        section->waits++;
    }
    revocable_leave(section->object, self);
    return SUCCESS;
}

static inline uint32_t lock_section_waits(const lock_section_t *section) { return section->waits; }

/* Where threads share processors, the context-switch code that a yield point invokes looks for a
 * request (3.1), so it costs nothing while the time slice lasts. On the source's single processor
 * the holder was switched out when it was asked; on several it answers at the end of its slice. */
static inline bool lock_section_poll(lock_thread_t *self) {
#ifdef LOCKCROSS_SCHEDULER
    handshake_poll(self);
    if (LOCK_LIKELY(load_rlx_u32(&self->slice) != 0))
        return false;
    processor_end_slice(self);
#else
    lock_safepoint(self);
#endif
    if (LOCK_LIKELY(load_rlx_u32(&revocable_thread(self)->asked) == 0))
        return false;
    return revocable_roll_back(self);
}

#endif
