/*
 * Sections of the lock `revocable` that can be rolled back: Welc et al. 2004, sections 2.2 and 3.
 *
 * Writes. A sequential log of the thread holds, for every write in a section, the address and what
 * stood there. The outermost section's end forgets it.
 *
 * Revocation. At a poll the holder looks for the outermost of its open sections that is asked to
 * roll back and may. It restores the log in reverse down to where that section began, before it
 * releases anything, then releases the monitors of the section and of those inside it, and poll
 * says so.
 *
 * Non-revocable sections (2.2). A section is pinned, with all that enclose it,
 *   - when another thread becomes dependent on a write within it: one that acquires a monitor which
 *     the section's thread has released since, nested in it (Figure 2);
 *   - by a write to a volatile variable (Figure 3), a native call, or a wait while more than one
 *     section is open, and by a plain lock_acquire, which could not be begun again.
 * A wait in the only open section ends what can be undone: a roll-back goes back to the wait.
 * Notifications pin nothing.
 *
 *   state of a thread, under CAS:          extra[0] of a monitor that it released in a section:
 *    31          9  8   7          0        63    48 47    40 39    32 31           9  8     0
 *   +-------------+---+-------------+      +--------+--------+--------+--------------+--------+
 *   | serial      | B | pinned      |      | 0      | tid    | open   | serial       | 0      |
 *   +-------------+---+-------------+      +--------+--------+--------+--------------+--------+
 *   serial: of the outermost section       B: busy, rolling back
 *   pinned: so many sections, from the outermost, are not revocable
 *
 * Who acquires a monitor with such a mark pins the sections that were open then, if they still are;
 * while their thread is busy rolling back it waits, so it reads what stood before.
 *
 * Where the source is silent: it names no way to find the dependency; ours stands where Java's
 * happens-before edge is made, unlock to lock or volatile write (there, whether anybody reads or
 * not), and needs no read barrier. A read in a data race is not seen. The roll-back is an answer of
 * poll instead of an exception; the program goes back to the section's begin.
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

/* The section that is to be rolled back, or `depth`. */
static inline uint32_t revocable_find(const revocable_thread_t *thread, uint32_t pinned) {
    uint32_t i = pinned;
    while (i < thread->depth &&
           !(thread->open[i].outermost &&
             load_rlx_u32(&thread->open[i].object->lock_word) & REVOCABLE_ASKED))
        i++;
    return i;
}

/* Restores what the log holds from `mark` on, the last write first. */
static inline void revocable_restore(const lock_thread_t *self, uint32_t mark) {
    revocable_thread_t *thread = revocable_thread(self);
    while (thread->used > mark) {
        revocable_write_t *write = &revocable_log[self->tid - 1][--thread->used];
        store_rlx_u64(write->address, write->value);
    }
}

/* What a poll does that was asked to: whether it has rolled a section back. */
LOCK_SLOW bool revocable_roll_back(lock_thread_t *self) {
    revocable_thread_t *thread = revocable_thread(self);
    cas_acq_rel_u32(&thread->asked, 1, 0); /* reads from the last who asked: sees its mark R */
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
    uint32_t index; /* sections around it */
    uint32_t waits; /* so often did it wait, alone */
} lock_section_t;

/* Who was asked while it was parked takes its next yield point, whatever is left of its slice. */
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
    if (depth == 0) /* nothing of the one before can be pinned any more */
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

/* With `depth` sections left open: no more than those are pinned, and who acquires the monitor next
 * depends on them. */
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
        revocable_log[self->tid - 1][thread->used++] =
            (revocable_write_t){.address = p, .value = load_rlx_u64(p)};
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

/* Where threads share processors the question is asked in the context-switch code that a yield
 * point invokes (3.1), so it costs nothing while the time slice lasts. The holder was switched out
 * when it was asked, unless there are more processors than the source's one: then it answers at the
 * end of its slice. */
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
