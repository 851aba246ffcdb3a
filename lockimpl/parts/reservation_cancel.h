/*
 * How a reservation is cancelled, so that its owner does not overwrite the lock word from within an
 * unsafe region. Part of reservation.h; Kawachiya 2005, 5.3.2, 5.4.3 and 5.4.4.
 *
 *   handshake    The owner stops at a safepoint; unsafe regions contain none.
 *   suspend      The requester suspends the owner wherever it is, changes the lock word, moves the
 *                owner's program counter out of an unsafe region, and resumes it (Figure 5.6).
 *   signal       The requester sends the owner a signal and waits. In the signal's handler the
 *                owner changes the lock word and moves its own saved program counter (5.4.4).
 *   predicated   As suspend, but the requester sets the owner's predicate register to false, which
 *                the store of an unsafe region depends on (5.4.4).
 *
 * arch/restartable.h has the restartable sequences and the changes of a context.
 *
 * Where the source is silent: Unix has no thread_suspend. The owner suspends itself in the handler
 * of a signal until it is resumed, and its context is the one that the signal saved. Two threads
 * that suspend each other would both wait forever, so only one cancellation by signal runs at a
 * time. A thread that does not exist, because it has not begun or has ended (footnote 6), gets no
 * signal; to begin or to end, a thread waits until a cancellation under way is over.
 *
 * The program defines lock_signal and calls lock_signalled in the handler. A program that cannot do
 * so (in a simulator, or when threads share processors) never calls lock_signals_possible, and the
 * handshake stands in.
 */
#ifndef LOCKCROSS_RESERVATION_CANCEL_H
#define LOCKCROSS_RESERVATION_CANCEL_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "parts/reservation_word.h"
#include "types.h"

#define RESERVATION_BY_SIGNAL                                                                      \
    (LOCKCROSS_VARIANT_SUSPEND || LOCKCROSS_VARIANT_SIGNAL || LOCKCROSS_VARIANT_PREDICATED)
#if LOCKCROSS_VARIANT_PREDICATED
#define RESTARTABLE_PREDICATED
#endif
#if RESERVATION_BY_SIGNAL
#include "arch/restartable.h"
#include "monitor/monitor.h"
#endif

/* Called by the owner, or while it is kept from its unsafe regions. Another thread may have taken
 * the lock out of the reserve mode meanwhile. */
static inline void reservation_to_base(lock_object_t *obj) {
    uint32_t word;
    do
        word = load_rlx_u32(&obj->lock_word);
    while ((word & RESERVATION_LRV) &&
           /* release: what the owner did under the lock goes to the base lock's next holder */
           !cas_acq_rel_u32(&obj->lock_word, word, reservation_base_word(word)));
}

/* `owner` may be `self`: then nobody is stopped. */
static inline void reservation_cancel_by_handshake(lock_object_t *obj, lock_thread_t *self,
                                                   lock_thread_t *owner) {
    if (owner != self)
        handshake_stop(self, owner);
    reservation_to_base(obj);
    if (owner != self)
        handshake_resume(self, owner);
}

#if !RESERVATION_BY_SIGNAL

static inline void reservation_cancel(lock_object_t *obj, lock_thread_t *self,
                                      lock_thread_t *owner) {
    reservation_cancel_by_handshake(obj, self, owner);
}

#else

/* The program can send signals, and says when each of its threads begins and ends. */
#define LOCK_SIGNALS 1

/* The one cancellation by signal. */
typedef struct {
    volatile uint32_t latch;
    volatile uint32_t number; /* of the cancellation, under the latch, as the next three */
    lock_thread_t *owner;
    lock_object_t *object;
    bool exists[LOCK_MAX_THREADS];
    volatile uint32_t answered, resumed; /* numbers: by the owner; by the requester */
    void *context;                       /* the owner's, from answered to resumed */
    bool possible;
} reservation_signal_t;

extern reservation_signal_t reservation_signal;
#ifdef LOCKCROSS_STORAGE
reservation_signal_t reservation_signal;
#endif

/* Makes cancellations use signals from now on. To be called before there are threads. */
static inline void lock_signals_possible(void) { reservation_signal.possible = true; }

static inline void reservation_set_exists(const lock_thread_t *self, bool exists) {
    latch_acquire(&reservation_signal.latch);
    reservation_signal.exists[self->tid - 1] = exists;
    latch_release(&reservation_signal.latch);
}

/* `self` begins, before it uses locks; and ends, when it does not use them any more. */
static inline void lock_thread_begin(lock_thread_t *self) { reservation_set_exists(self, true); }
static inline void lock_thread_end(lock_thread_t *self) { reservation_set_exists(self, false); }

/* To be called in the handler, with the context that the signal saved (Linux's ucontext_t). */
static inline void lock_signalled(void *context) {
    reservation_signal_t *s = &reservation_signal;
    uint32_t number = load_acq_u32(&s->number);
#if LOCKCROSS_VARIANT_SIGNAL
    reservation_to_base(s->object);
    restartable_repair(context, s->owner);
    store_rel_u32(&s->answered, number);
#else
    s->context = context;
    store_rel_u32(&s->answered, number);
    while ((int32_t)(load_acq_u32(&s->resumed) - number) < 0) /* others may have followed */
        cpu_relax();
#endif
}

/* With the latch held, for an owner that exists. */
static inline void reservation_interrupt(lock_object_t *obj, lock_thread_t *owner) {
    reservation_signal_t *s = &reservation_signal;
    uint32_t number = s->number + 1;
    s->owner = owner;
    s->object = obj;
    store_rel_u32(&s->number, number);
    lock_signal(owner);
    while (load_acq_u32(&s->answered) != number)
        cpu_relax();
#if !LOCKCROSS_VARIANT_SIGNAL
    reservation_to_base(obj);
    restartable_repair(s->context, owner);
    store_rel_u32(&s->resumed, number);
#endif
}

static inline void reservation_cancel(lock_object_t *obj, lock_thread_t *self,
                                      lock_thread_t *owner) {
    reservation_signal_t *s = &reservation_signal;
    if (!s->possible) {
        reservation_cancel_by_handshake(obj, self, owner);
        return;
    }
    if (owner == self) {
        reservation_to_base(obj);
        return;
    }
    latch_acquire(&s->latch);
    if (s->exists[owner->tid - 1])
        reservation_interrupt(obj, owner);
    else
        reservation_to_base(obj);
    latch_release(&s->latch);
}

#endif
#endif
