/*
 * biased: biased locking over stack locking, the lock of OpenJDK 14 to 17, read in openjdk/jdk at
 * JDK 17: src/hotspot/share/runtime/biasedLocking.cpp and .hpp, synchronizer.cpp,
 * src/hotspot/share/oops/markWord.hpp, and biased_locking_enter and _exit of
 * src/hotspot/cpu/x86/macroAssembler_x86.cpp.
 *
 * A new object is biased to nobody; its first acquirer makes it biased to itself by a CAS. From
 * then on this thread, the owner, acquires by a comparison of the word with the header of the
 * object's class, which has the epoch, and releases without looking further: the word stays as it
 * is. That the lock is held stands in the owner's frames alone. Another thread revokes the bias: by
 * a handshake it stops the owner, looks through the owner's frames, and makes the word that of a
 * stack lock that the owner holds as often, or of a free one. From then on the object has a stack
 * lock (parts/stack_lock.h), and is never biased again.
 *
 *    31               10 9     8 7       3  2  1    0
 *   +-------------------+-------+---------+---+------+
 *   | tid, or 0         | epoch | misc    | 1 | 01   |   biased, held or not (tid 0: to nobody)
 *   | 0                           | misc  | 0 | 01   |   free
 *   | number of a frame's record              | 00   |   held flat, or INFLATING: hotspot_stack.h
 *   | monitor index               | misc  | 0 | 10   |   inflated
 *   +-----------------------------+-------+---+------+
 *
 * Revocations of a class are counted, and two of them are made for all of its objects at once, with
 * all threads stopped:
 *
 *   - bulk rebias (BIASED_BULK_REBIAS revocations): the class gets a new epoch, and so do those of
 *     its objects that are held. All others have lost their bias, but may be biased once more: to
 *     the thread that comes next, by a CAS.
 *   - bulk revoke (BIASED_BULK_REVOKE): the class is not biased any more, and those of its objects
 *     that are held are revoked. Others become free by a CAS of who comes next, and new objects
 *     begin so.
 *
 * From the load of the word to the change of its own frames the owner has no safepoint. Waiting and
 * notifying revoke, and so does an acquisition that finds the owner's stack full; a thread revokes
 * its own bias without a handshake.
 *
 * Choices: an object has no class, so there is one for all objects of a program. In place of frames
 * each thread has a stack of the objects that it holds by bias, as often as it holds them: the
 * stores of an interpreter, where compiled code knows its locks from its own tables and stores
 * nothing. HotSpot's frames have no end. Its release does not look whether the lock is held; here a
 * thread that does not hold it is refused. All revocations by a handshake that meet at one owner
 * come one after the other.
 *
 * It is that of JDK 14 to 17: before, a revocation stopped all threads, which is dearer the more
 * there are.
 *
 * Left out: the decay of the count, which begins again when a class has not been rebiased for 25
 * seconds, so that here there is one bulk rebias in a program; the delay at start, 0 since JDK 10;
 * and the collector, which takes away the bias of what is not held.
 */
#ifndef LOCKCROSS_BIASED_H
#define LOCKCROSS_BIASED_H

#define STACK_MISC 0x000000f8u
/* As many as a thread can hold, and as many again, that a bulk revoke may add. */
#ifndef RECORDS_EACH
#define RECORDS_EACH SMALL_IN_MODEL(32u, 4u)
#endif

#include <stdbool.h>
#include <stdint.h>

#include "parts/stack_lock.h" /* first, since it declares a part of each monitor */

#include "arch/arch.h"
#include "monitor/handshake.h"
#include "monitor/handshake_all.h"
#include "parts/object_monitor.h"
#include "types.h"

/* Revocations of a class. BiasedLockingBulkRebiasThreshold, BiasedLockingBulkRevokeThreshold. */
#ifndef BIASED_BULK_REBIAS
#define BIASED_BULK_REBIAS SMALL_IN_MODEL(20u, 2u)
#endif
#ifndef BIASED_BULK_REVOKE
#define BIASED_BULK_REVOKE SMALL_IN_MODEL(40u, 3u)
#endif

enum { BIASED = 5, BIASED_PATTERN = 7 };
#define BIASED_EPOCH 0x00000300u
#define BIASED_EPOCH_ONE 0x00000100u
#define BIASED_TID_SHIFT 10

enum {
    biased_initial_word = BIASED,
    biased_tid_shift = BIASED_TID_SHIFT,
    biased_misc_mask = STACK_MISC
};

/* The class of all objects. `header` is the word of a new object, without misc bits. */
typedef struct {
    volatile uint32_t header;
    volatile uint32_t revocations;
    uint32_t threads; /* of the program */
} __attribute__((aligned(LOCK_LINE))) biased_class_t;

/* By thread: what it holds by bias, the latest last. The first place stays empty. */
#define BIASED_STACK SMALL_IN_MODEL(16u, 2u)
typedef struct {
    uint32_t used;
    lock_object_t *objects[1 + BIASED_STACK];
} __attribute__((aligned(LOCK_LINE))) biased_stack_t;

extern biased_class_t biased_class;
extern biased_stack_t biased_stacks[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
biased_class_t biased_class = {.header = BIASED};
biased_stack_t biased_stacks[LOCK_MAX_THREADS];
#endif

/* Threads are made one after the other, before any runs. */
#define LOCK_ON_THREAD_INIT(self, index) ((void)(self), (void)(biased_class.threads = (index) + 1))

#define LOCK_ON_OBJECT_INIT(obj) biased_renew(obj)

/* Whether a word or the header of the class has the pattern of a bias. */
static inline bool biased_has_bias(uint32_t word) { return (word & BIASED_PATTERN) == BIASED; }

/* What the diagram allows. */
static inline bool biased_word_is_valid(uint32_t word) {
    if (biased_has_bias(word))
        return word >> BIASED_TID_SHIFT <= LOCK_MAX_THREADS;
    return stack_word_is_valid(word) && ((word & STACK_STATE) == STACK_FLAT || !(word & 4));
}
#define LOCK_WORD_IS_VALID(word) biased_word_is_valid(word)

/* Makes `obj` a new object, as its class has it. */
static inline void biased_renew(lock_object_t *obj) {
    object_monitor_renew_of(obj);
    store_rlx_u32(&obj->lock_word, load_rlx_u32(&biased_class.header));
}

/* Whether the word says: biased to `thread`, and in force. */
static inline bool biased_is_of(uint32_t word, const lock_thread_t *thread) {
    uint32_t header = load_rlx_u32(&biased_class.header);
    return ((word ^ (header | thread->tid_field)) & ~STACK_MISC) == 0;
}

/* Whether a biased word says: to nobody, or no longer in force. */
static inline bool biased_is_open(uint32_t word) {
    uint32_t header = load_rlx_u32(&biased_class.header);
    return word >> BIASED_TID_SHIFT == 0 ||
           ((word ^ header) & (BIASED_EPOCH | BIASED_PATTERN)) != 0;
}

static inline uint32_t biased_free_word(uint32_t word) { return (word & STACK_MISC) | STACK_FREE; }

static inline biased_stack_t *biased_stack_of(const lock_thread_t *thread) {
    return &biased_stacks[thread->tid - 1];
}

static inline void biased_push(biased_stack_t *stack, lock_object_t *obj) {
    stack->objects[++stack->used] = obj;
}

/* How often the thread of the stack holds `obj` by bias. */
static inline uint32_t biased_count(const biased_stack_t *stack, const lock_object_t *obj) {
    uint32_t holds = 0;
    for (uint32_t i = 1; i <= stack->used; i++)
        holds += stack->objects[i] == obj;
    return holds;
}

/* Takes `obj` from the stack, as often as it is in it, which it returns. */
static inline uint32_t biased_take(biased_stack_t *stack, const lock_object_t *obj) {
    uint32_t used = stack->used, kept = 0;
    for (uint32_t i = 1; i <= used; i++) {
        if (stack->objects[i] != obj)
            stack->objects[++kept] = stack->objects[i];
    }
    stack->used = kept;
    return used - kept;
}

/* By `owner`, or with it stopped: ends the bias of an object that only `owner` may hold. */
static inline void biased_to_stack_lock(lock_object_t *obj, lock_thread_t *owner, uint32_t word) {
    uint32_t header = biased_free_word(word), holds = biased_take(biased_stack_of(owner), obj);
    if (holds) {
        uint32_t number = stack_take_record(owner);
        record_at(number)->displaced = header;
        record_at(number)->holds = holds;
        header = number << STACK_NUMBER_SHIFT;
    }
    store_rel_u32(&obj->lock_word, header);
}

static inline lock_thread_t *biased_owner(uint32_t word) {
    return &lock_threads[(word >> BIASED_TID_SHIFT) - 1];
}

/* Ends the bias to `owner`, unless it is no longer in force. */
LOCK_SLOW void biased_revoke_one(lock_object_t *obj, lock_thread_t *self, lock_thread_t *owner) {
    if (owner != self)
        handshake_stop(self, owner);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (biased_is_of(word, owner))
        biased_to_stack_lock(obj, owner, word);
    if (owner != self)
        handshake_resume(self, owner);
}

/* With all threads stopped: what a thread holds keeps its bias in the new epoch. */
static inline void biased_renew_held(biased_stack_t *stack, uint32_t epoch) {
    for (uint32_t i = 1; i <= stack->used; i++) {
        lock_object_t *obj = stack->objects[i];
        store_rlx_u32(&obj->lock_word, (load_rlx_u32(&obj->lock_word) & ~BIASED_EPOCH) | epoch);
    }
}

/* With all threads stopped: what a thread holds by bias it holds by stack locks. */
static inline void biased_revoke_held(biased_stack_t *stack, lock_thread_t *owner) {
    while (stack->used != 0) {
        lock_object_t *obj = stack->objects[stack->used];
        biased_to_stack_lock(obj, owner, load_rlx_u32(&obj->lock_word));
    }
}

/* With all threads stopped, and the class biased: a new epoch, or no bias any more. */
static inline void biased_change_class(bool rebias) {
    uint32_t header = load_rlx_u32(&biased_class.header);
    header = rebias ? BIASED | ((header + BIASED_EPOCH_ONE) & BIASED_EPOCH) : STACK_FREE;
    store_rlx_u32(&biased_class.header, header);
    for (uint32_t i = 0; i < biased_class.threads; i++) {
        if (rebias)
            biased_renew_held(&biased_stacks[i], header & BIASED_EPOCH);
        else
            biased_revoke_held(&biased_stacks[i], &lock_threads[i]);
    }
}

/* The bulk operation that the revocation of `obj` has brought about, and this itself. */
LOCK_SLOW void biased_revoke_bulk(lock_object_t *obj, lock_thread_t *self, bool rebias) {
    handshake_stop_all(self, biased_class.threads);
    if (biased_has_bias(load_rlx_u32(&biased_class.header)))
        biased_change_class(rebias);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (biased_has_bias(word)) /* and not to nobody, which it never is again */
        biased_to_stack_lock(obj, biased_owner(word), word);
    handshake_resume_all(self, biased_class.threads);
}

/* Counts a revocation; returns how many there have been, at most one more than for bulk revoke. */
static inline uint32_t biased_count_revocation(void) {
    uint32_t before;
    do {
        before = load_rlx_u32(&biased_class.revocations);
        if (before > BIASED_BULK_REVOKE)
            return before;
    } while (!cas_rlx_u32(&biased_class.revocations, before, before + 1));
    return before + 1;
}

/* Ends the bias of an object, whoever has it and however. */
LOCK_SLOW void biased_revoke(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word;
    while (biased_has_bias(word = load_rlx_u32(&obj->lock_word))) {
        if (biased_is_open(word)) {
            cas_rlx_u32(&obj->lock_word, word, biased_free_word(word));
            continue;
        }
        uint32_t revocations = biased_count_revocation();
        if (revocations == BIASED_BULK_REBIAS || revocations == BIASED_BULK_REVOKE)
            biased_revoke_bulk(obj, self, revocations == BIASED_BULK_REBIAS);
        else
            biased_revoke_one(obj, self, biased_owner(word));
    }
}

/* Acquires a lock that is biased, but not to `self`, or whose owner has a full stack. */
LOCK_SLOW lock_result_t biased_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    biased_stack_t *stack = biased_stack_of(self);
    uint32_t word = load_rlx_u32(&obj->lock_word), header = load_rlx_u32(&biased_class.header);
    if (biased_has_bias(header) && biased_has_bias(word) && biased_is_open(word) &&
        stack->used != BIASED_STACK &&
        cas_acq_u32(&obj->lock_word, word, (word & STACK_MISC) | header | self->tid_field)) {
        biased_push(stack, obj);
        return SUCCESS;
    }
    biased_revoke(obj, self);
    return stack_acquire(obj, self, load_rlx_u32(&obj->lock_word));
}

static inline lock_result_t biased_acquire(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!LOCK_LIKELY(biased_has_bias(word)))
        return stack_acquire(obj, self, word);
    biased_stack_t *stack = biased_stack_of(self);
    if (!LOCK_LIKELY(biased_is_of(word, self) && stack->used != BIASED_STACK))
        return biased_acquire_slow(obj, self);
    biased_push(stack, obj);
    order_compiler();
    return SUCCESS;
}

/* Releases a biased lock whose object is not on top of the stack of `self`. */
LOCK_SLOW lock_result_t biased_release_below(lock_object_t *obj, lock_thread_t *self) {
    biased_stack_t *stack = biased_stack_of(self);
    uint32_t at = stack->used;
    while (at != 0 && stack->objects[at] != obj)
        at--;
    if (at == 0)
        return ILLEGAL_STATE;
    for (; at != stack->used; at++)
        stack->objects[at] = stack->objects[at + 1];
    stack->used--;
    return SUCCESS;
}

static inline lock_result_t biased_release(lock_object_t *obj, lock_thread_t *self) {
    order_compiler();
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!LOCK_LIKELY(biased_has_bias(word)))
        return stack_release(obj, self, word);
    biased_stack_t *stack = biased_stack_of(self);
    if (!LOCK_LIKELY(stack->objects[stack->used] == obj))
        return biased_release_below(obj, self);
    stack->used--;
    return SUCCESS;
}

/* Before `self` waits or notifies: revokes. False if `self` does not hold the lock by bias. */
static inline bool biased_leave(lock_object_t *obj, lock_thread_t *self) {
    if (biased_count(biased_stack_of(self), obj) == 0)
        return false;
    biased_revoke(obj, self);
    return true;
}

LOCK_SLOW lock_result_t biased_wait(lock_object_t *obj, lock_thread_t *self) {
    if (biased_has_bias(load_rlx_u32(&obj->lock_word)) && !biased_leave(obj, self))
        return ILLEGAL_STATE;
    return stack_wait(obj, self);
}

static inline lock_result_t biased_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    if (biased_has_bias(load_rlx_u32(&obj->lock_word)) && !biased_leave(obj, self))
        return ILLEGAL_STATE;
    return stack_notify(obj, self, limit);
}

static inline bool biased_is_idle(lock_object_t *obj) {
    if (!biased_has_bias(load_rlx_u32(&obj->lock_word)))
        return stack_is_idle(obj);
    for (uint32_t i = 0; i < biased_class.threads; i++) {
        if (biased_count(&biased_stacks[i], obj))
            return false;
    }
    return true;
}

#endif
