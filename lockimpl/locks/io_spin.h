/*
 * io_spin: spin locks for the output sections that never block of Serrano and Grande 2014,
 * section 3.
 *
 * At each acquisition the stream declares what its kind of file descriptor means for the section:
 * lock_acquire_short for one that is short and does not usually block (files, consoles, string
 * ports), lock_acquire for any other. A short section has a spin lock: one CAS to acquire, one
 * store to release. Any other has a full-fledged mutex: one CAS each, and a thread that finds it
 * taken parks. The lock word is that of monitor/mutex.h; S marks a short section.
 *
 *    31  30  29                        0     31                 0
 *   +---+---+---------------------------+   +--------------------+
 *   | W | S | tid of the holder, or 0   |   | recursions (holder)|
 *   +---+---+---------------------------+   +--------------------+
 *             lock word                           flag word
 *
 * While a thread holds the lock with S, nobody else writes the word, so a store releases it. Where
 * the source is silent: one lock may be used in both ways. The kind of the holder's section then
 * decides how other threads wait: they spin while it is short and park while it may block. A nested
 * acquisition is part of the outermost section, whatever it declares. Streams offer no wait.
 */
#ifndef LOCKCROSS_IO_SPIN_H
#define LOCKCROSS_IO_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/mutex.h"
#include "monitor/processor.h"
#include "parts/without_wait.h"
#include "types.h"

enum { io_spin_initial_word = 0, io_spin_tid_shift = 0, io_spin_misc_mask = 0 };

static inline lock_result_t io_spin_acquire(lock_object_t *obj, lock_thread_t *self) {
    return mutex_acquire(obj, self);
}

LOCK_SLOW lock_result_t io_spin_acquire_short_slow(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (mutex_is_mine(word, self)) {
        store_rlx_u32(&obj->flag, load_rlx_u32(&obj->flag) + 1);
        return SUCCESS;
    }
    do {
        while ((word = load_rlx_u32(&obj->lock_word)) & MUTEX_SHORT)
            spin_wait(self);
        if (word != 0) { /* the holder may block */
            mutex_compete(obj, self, false);
            return SUCCESS;
        }
    } while (!cas_acq_u32(&obj->lock_word, 0, self->tid_field | MUTEX_SHORT));
    return SUCCESS;
}

static inline lock_result_t io_spin_acquire_short(lock_object_t *obj, lock_thread_t *self) {
    if (LOCK_LIKELY(cas_acq_u32(&obj->lock_word, 0, self->tid_field | MUTEX_SHORT)))
        return SUCCESS;
    return io_spin_acquire_short_slow(obj, self);
}
#define LOCK_ACQUIRE_SHORT(obj, self) io_spin_acquire_short(obj, self)

static inline lock_result_t io_spin_release(lock_object_t *obj, lock_thread_t *self) {
    if (!(load_rlx_u32(&obj->lock_word) & MUTEX_SHORT))
        return mutex_release(obj, self);
    if (!LOCK_LIKELY(load_rlx_u32(&obj->lock_word) == (self->tid_field | MUTEX_SHORT)))
        return ILLEGAL_STATE;
    uint32_t recursions = load_rlx_u32(&obj->flag);
    if (LOCK_LIKELY(recursions == 0))
        store_rel_u32(&obj->lock_word, 0);
    else
        store_rlx_u32(&obj->flag, recursions - 1);
    return SUCCESS;
}

LOCK_WITHOUT_WAIT(io_spin)

static inline bool io_spin_is_idle(lock_object_t *obj) { return mutex_is_idle(obj); }

#endif
