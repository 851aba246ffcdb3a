/*
 * Which sections of the threads of revocable.h are open and may be revoked, and their logs of
 * writes. Welc et al. 2004, sections 2.2 and 3; revocable_sections.h has the rest.
 *
 * Writes. A sequential log of the thread holds, for every write in a section, where it was and the
 * old value: three words of 32 bits, as the source's entry for a field of an object. There they are
 * reference, offset and value; here the place, in words of 64 bits from the log on, and the halves
 * of the value. So shared data lie within 16 GiB of the log, as all of a program's own do. The
 * outermost section's end forgets the log.
 *
 * Non-revocable sections (2.2). A section is pinned, with all that enclose it,
 *   - when another thread becomes dependent on a write within it: by acquiring a monitor which the
 *     section's thread has released since, nested in it (Figure 2);
 *   - by a write to a volatile variable (Figure 3), a native call, or a wait while more than one
 *     section is open, and by a plain lock_acquire, which could not be begun again.
 * A wait in the only open section ends what can be undone: a roll-back returns to the wait.
 * Notifications pin nothing.
 *
 *   state of a thread, under CAS:          extra[0] of a monitor that it released in a section:
 *    31          9  8   7          0        63    48 47    40 39    32 31           9  8     0
 *   +-------------+---+-------------+      +--------+--------+--------+--------------+--------+
 *   | serial      | B | pinned      |      | 0      | tid    | open   | serial       | 0      |
 *   +-------------+---+-------------+      +--------+--------+--------+--------------+--------+
 *   serial: of the outermost section       B: busy, rolling back
 *   pinned: this many sections, from the outermost, are not revocable
 *
 * A thread that acquires a monitor with such a mark pins the sections that were open then, if they
 * still are; while their thread is busy rolling back it waits, so that it reads the old values.
 *
 * Where the source is silent: it does not say how the dependency is found. Here it is found where
 * Java's happens-before edge arises, from unlock to lock or at a volatile write (there, whether
 * anybody reads or not), and needs no read barrier. A read in a data race is not seen.
 */
#ifndef LOCKCROSS_REVOCABLE_STATE_H
#define LOCKCROSS_REVOCABLE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/processor.h"
#include "types.h"

#ifndef REVOCABLE_LOG
#define REVOCABLE_DEPTH SMALL_IN_MODEL(32, 2)  /* open sections of a thread */
#define REVOCABLE_LOG SMALL_IN_MODEL(16384, 4) /* writes of a thread in an outermost section */
#endif
#define REVOCABLE_SERIAL 0x200u
#define REVOCABLE_BUSY 0x100u
#define REVOCABLE_PINNED 0x0ffu

/* Volatile, so that it is stored and read word by word: two together could straddle a line. */
typedef struct {
    volatile uint32_t place, low, high;
} revocable_write_t;

typedef struct {
    /* Used by the thread alone. */
    uint32_t depth; /* open sections */
    uint32_t used;  /* of the log */
    struct {
        lock_object_t *object;
        uint32_t mark;  /* length of the log when it began */
        bool outermost; /* of this thread on this monitor: its end frees the monitor */
    } open[REVOCABLE_DEPTH];
    /* Used by other threads too. */
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

static inline void revocable_note(revocable_write_t *write, const volatile uint64_t *address,
                                  uint64_t value) {
    write->place = (uint32_t)(((intptr_t)address - (intptr_t)revocable_log) / 8);
    write->low = (uint32_t)value;
    write->high = (uint32_t)(value >> 32);
}

static inline void revocable_undo(const revocable_write_t *write) {
    intptr_t address = (intptr_t)revocable_log + (intptr_t)(int32_t)write->place * 8;
    store_rlx_u64((volatile uint64_t *)address, (uint64_t)write->high << 32 | write->low);
}

/* Asks `thread` to look for a section to roll back; the mark R of that section is set. */
static inline void revocable_ask(lock_thread_t *thread) {
    store_rel_u32(&revocable_thread(thread)->asked, 1);
}

/* Makes the outermost `count` open sections of the thread not revocable, if its outermost section
 * still has this serial. Waits while they are being rolled back. */
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

/* Makes all open sections of `self` not revocable. */
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

/* `self` has acquired a monitor: it may read what another thread wrote in a section still open. */
static inline void revocable_depend(lock_object_t *obj, lock_thread_t *self) {
    uint64_t mark = load_rlx_u64(&obj->extra[0]);
    if (!LOCK_LIKELY(mark == 0))
        revocable_depend_slow(obj, self, mark);
}

#endif
