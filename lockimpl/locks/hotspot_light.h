/*
 * hotspot_light: the lock of OpenJDK 23 and later (LM_LIGHTWEIGHT; an option in 21 and 22), in its
 * default variant that of JDK 23 to 26, with 25 the one of long-term support, read in
 * openjdk/jdk: src/hotspot/share/runtime/synchronizer.cpp and lockStack.hpp, and fast_lock and
 * fast_unlock of src/hotspot/cpu/{x86,aarch64}/c2_MacroAssembler_*.cpp.
 *
 * Flat, two bits of the header word say only that the lock is held. Who holds it stands in that
 * thread's own lock stack, which has room for 8 objects. Acquire: a CAS, and a push. An object that
 * is on top of the stack already is pushed again: a nested acquisition has no atomic. Release: a
 * pop, and a CAS if the object is not on top then. A contender, which cannot know the holder,
 * inflates the lock all the same: its monitor begins with an unknown owner, and waiting threads
 * queue there. The holder finds that its CAS fails, and takes the monitor over. So does a wait, a
 * nested acquisition of an object that is not on top, and one that finds the stack full; there the
 * oldest object is inflated for any other.
 *
 *    31                             8 7       2 1    0
 *   +--------------------------------+---------+------+
 *   | 0                              | misc    | 01   |   free
 *   | 0                              | misc    | 00   |   held flat
 *   | monitor index (0 with `table`) | misc    | 10   |   inflated: parts/object_monitor.h
 *   +--------------------------------+---------+------+
 *
 * Variants:
 *
 *   - header    the word has the monitor; a contender inflates at once
 *   - responsible   as `header`, with the monitor of up to JDK 23: its exit has no S, and a
 *               contender with a timer repairs what that may miss
 *   - look_first    as `header`, but the monitor's exit looks for threads before it releases
 *               (openjdk/jdk pull request 24927): that of the runtime since JDK 25, for interpreted
 *               code and for that of C1. Code of C2 releases first, as `header` does
 *   - table     (UseObjectMonitorTable, the default from JDK 27) the header bits stay as they are.
 *               Each acquisition clears a word of its frame. A thread finds the monitor in a cache
 *               of its own, of 2 monitors (8 in JDK 24 to 26), or else in a table without locks: a
 *               hash, then the places behind it, of which one in eight is used.
 *               Before it inflates, a contender tries 8 times, behind pauses that double: 0, 1, 3,
 *               7 and so on (FastLockingSpins, 8 from JDK 27: openjdk/jdk pull request 30988).
 *               Without a table no JDK spins before it inflates
 *   - table_spin13  as `table`, 13 times: JDK 24 to 26
 *   - table_spin1   as `table`, once, without pauses: the least that the flag can be set to
 *
 * Choices: the monitor's index does not displace the misc bits of the word, as its pointer does in
 * HotSpot. `header` finds its monitors in the table of monitor_table.h, and that only when it
 * inflates, where HotSpot allocates one. In both an object has one monitor for ever. Who inflates a
 * free lock holds it: HotSpot's `header` takes the monitor by another CAS then. A pause is isb on
 * AArch64, as HotSpot has it on Neoverse N1, N2, V1 and V2; on other cores it has `yield` or
 * nothing.
 *
 * Left out, and what it would move: with `table`, compiled code looks at the first place of the
 * table alone, and a release finds the monitor in the frame (inflated locks, some loads); a
 * contender counts itself in and out of the monitor (two atomics) and changes its state in the
 * runtime; of a full stack, HotSpot first inflates what others contend for.
 */
#ifndef LOCKCROSS_HOTSPOT_LIGHT_H
#define LOCKCROSS_HOTSPOT_LIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define LIGHT_TABLE                                                                                \
    (LOCKCROSS_VARIANT_TABLE || LOCKCROSS_VARIANT_TABLE_SPIN1 || LOCKCROSS_VARIANT_TABLE_SPIN13)
#if LIGHT_TABLE && !defined(MONITOR_POOL_SIZE)
#include "types.h"
#define MONITOR_POOL_SIZE SMALL_IN_MODEL(4096, 6) /* with a spare one of each thread */
#endif

#define OBJECT_MONITOR_RESPONSIBLE LOCKCROSS_VARIANT_RESPONSIBLE
#if LOCKCROSS_VARIANT_LOOK_FIRST
#define OBJECT_MONITOR_LOOKS_FIRST 1
#endif
#include "parts/object_monitor.h" /* first, since it declares a part of each monitor */

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "parts/bounded_spin.h"
#include "types.h"

enum { LIGHT_HELD = 0, LIGHT_FREE = 1, LIGHT_INFLATED = 2, LIGHT_STATE = 3 };
#define LIGHT_MISC 0x000000fcu
#define LIGHT_INDEX_SHIFT 8
#define LOCK_IS_FAT(obj) ((load_rlx_u32(&(obj)->lock_word) & LIGHT_INFLATED) != 0)

enum {
    hotspot_light_initial_word = LIGHT_FREE,
    hotspot_light_tid_shift = 0,
    hotspot_light_misc_mask = LIGHT_MISC
};

/* With a table: how often a contender tries before it inflates. */
#if LOCKCROSS_VARIANT_TABLE_SPIN1
#define LIGHT_SPIN_ROUNDS 1u
#elif LOCKCROSS_VARIANT_TABLE_SPIN13
#define LIGHT_SPIN_ROUNDS SMALL_IN_MODEL(13u, 1u)
#else
#define LIGHT_SPIN_ROUNDS SMALL_IN_MODEL(8u, 1u)
#endif

#define LIGHT_INNER_SPIN                                                                           \
    1024u /* turns between two looks for a safepoint, of which one is the look */

/* What the diagram allows. */
static inline bool light_word_is_valid(uint32_t word) {
    uint32_t index = word >> LIGHT_INDEX_SHIFT, state = word & LIGHT_STATE;
#if LIGHT_TABLE
    return index == 0 && state != LIGHT_STATE;
#else
    return state == LIGHT_INFLATED ? index - 1 < MONITOR_POOL_SIZE
                                   : index == 0 && state != LIGHT_STATE;
#endif
}
#define LOCK_WORD_IS_VALID(word) light_word_is_valid(word)

#if LIGHT_TABLE
#include "parts/light_table.h"
#else
static inline monitor_t *light_monitor(const lock_object_t *obj, const lock_thread_t *self,
                                       uint32_t word) {
    (void)obj, (void)self;
    return monitor_at(word >> LIGHT_INDEX_SHIFT);
}

static inline monitor_t *light_obtain_monitor(const lock_object_t *obj, const lock_thread_t *self) {
    (void)self;
    return lookup_monitor(obj);
}

#define LOCK_ON_OBJECT_INIT(obj) object_monitor_renew_of(obj)
#endif

/* The word of a lock that becomes inflated. */
static inline uint32_t light_inflated_word(const monitor_t *monitor, uint32_t word) {
#if LIGHT_TABLE
    (void)monitor;
    return (word & ~LIGHT_STATE) | LIGHT_INFLATED;
#else
    return monitor->index << LIGHT_INDEX_SHIFT | (word & LIGHT_MISC) | LIGHT_INFLATED;
#endif
}

/* By thread: what it holds flat, as often as it holds it, the latest last. The first place stays
 * empty: it is the top of an empty stack. */
#define LIGHT_STACK SMALL_IN_MODEL(8u, 2u)
typedef struct {
    uint32_t used;
    lock_object_t *objects[1 + LIGHT_STACK];
#if LIGHT_TABLE
    volatile uint64_t box; /* of the latest acquisition: its monitor, if it was seen to have one */
#endif
} __attribute__((aligned(LOCK_LINE))) light_stack_t;

extern light_stack_t light_stacks[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
light_stack_t light_stacks[LOCK_MAX_THREADS];
#endif

static inline light_stack_t *light_stack(const lock_thread_t *self) {
    return &light_stacks[self->tid - 1];
}

static inline void light_push(light_stack_t *stack, lock_object_t *obj) {
    stack->objects[++stack->used] = obj;
}

/* With a table, each acquisition clears its box, in the frame. */
static inline void light_clear_box(light_stack_t *stack) {
#if LIGHT_TABLE && !defined(LOCKCROSS_MODEL)
    store_rlx_u64(&stack->box, 0);
#endif
    (void)stack;
}

static inline bool light_on_top(const light_stack_t *stack, lock_object_t *obj) {
    return stack->objects[stack->used] == obj;
}

/* How often an object stands in a stack. */
static inline uint32_t light_count(const light_stack_t *stack, lock_object_t *obj) {
    uint32_t count = 0;
    for (uint32_t at = stack->used; at > 0; at--)
        count += stack->objects[at] == obj;
    return count;
}

/* Takes an object out of a stack, however often it stands there, and returns how often. */
static inline uint32_t light_remove(light_stack_t *stack, lock_object_t *obj) {
    uint32_t kept = 0, used = stack->used;
    for (uint32_t at = 1; at <= used; at++) {
        if (stack->objects[at] != obj)
            stack->objects[++kept] = stack->objects[at];
    }
    stack->used = kept;
    return used - kept;
}

/* The monitor of an inflated lock. If `self` is the owner that it does not know, it does then. */
static inline monitor_t *light_claimed_monitor(lock_object_t *obj, lock_thread_t *self,
                                               uint32_t word) {
    monitor_t *monitor = light_monitor(obj, self, word);
    light_stack_t *stack = light_stack(self);
    if (object_monitor_has_unknown_owner(monitor) && light_count(stack, obj) != 0)
        object_monitor_claim(monitor, self, light_remove(stack, obj));
    return monitor;
}

/* Inflates a lock that `self` holds flat, unless a contender has done so, and returns its monitor,
 * which then knows `self`. */
LOCK_SLOW monitor_t *light_inflate_mine(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = light_obtain_monitor(obj, self);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    while (!(word & LIGHT_INFLATED) &&
           !cas_rlx_u32(&obj->lock_word, word, light_inflated_word(monitor, word)))
        word = load_rlx_u32(&obj->lock_word);
    return light_claimed_monitor(obj, self, load_rlx_u32(&obj->lock_word));
}

/* Makes room in a full stack: what others have inflated leaves it, or else the oldest object. */
static inline void light_make_room(lock_thread_t *self) {
    light_stack_t *stack = light_stack(self);
    for (uint32_t at = LIGHT_STACK; at > 0 && stack->used == LIGHT_STACK; at--) {
        lock_object_t *held = stack->objects[at];
        uint32_t word = load_rlx_u32(&held->lock_word);
        if (word & LIGHT_INFLATED)
            light_claimed_monitor(held, self, word);
    }
    if (stack->used == LIGHT_STACK)
        light_inflate_mine(stack->objects[1], self);
}

/* Acquires a lock that is free, flat. */
static inline bool light_try_flat(lock_object_t *obj, lock_thread_t *self) {
    light_stack_t *stack = light_stack(self);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if ((word & LIGHT_STATE) != LIGHT_FREE)
        return false;
    if (stack->used == LIGHT_STACK)
        light_make_room(self);
    if (!cas_acq_u32(&obj->lock_word, word, word & ~LIGHT_STATE))
        return false;
    light_push(stack, obj);
    return true;
}

/* Inflates a lock that `self` does not hold. True: it was free, and `self` holds it now. */
static inline bool light_inflate(lock_object_t *obj, lock_thread_t *self) {
    monitor_t *monitor = light_obtain_monitor(obj, self);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    while (!(word & LIGHT_INFLATED)) {
        if (cas_acq_u32(&obj->lock_word, word, light_inflated_word(monitor, word))) {
            if (word & LIGHT_FREE)
                object_monitor_claim(monitor, self, 1);
            return word & LIGHT_FREE;
        }
        word = load_rlx_u32(&obj->lock_word);
    }
    return false;
}

/* Tries a lock that another thread holds flat again and again, until it is inflated. */
static inline bool light_spin(lock_object_t *obj, lock_thread_t *self) {
#if LIGHT_TABLE
    for (uint32_t round = 0; round != LIGHT_SPIN_ROUNDS && !LOCK_IS_FAT(obj); round++) {
        uint32_t all = 1u << round, inner = all < LIGHT_INNER_SPIN ? all : LIGHT_INNER_SPIN;
        for (uint32_t turns = all - all / inner; turns != 0; turns--)
            bounded_pause();
        if (light_try_flat(obj, self))
            return true;
    }
#endif
    (void)obj, (void)self;
    return false;
}

LOCK_SLOW lock_result_t light_acquire_slow(lock_object_t *obj, lock_thread_t *self) {
    if (!LOCK_IS_FAT(obj) && light_count(light_stack(self), obj) != 0) { /* not on top, or full */
        light_inflate_mine(obj, self)->recursion++;
        return SUCCESS;
    }
    if (light_try_flat(obj, self) || light_spin(obj, self) || light_inflate(obj, self))
        return SUCCESS;
    monitor_t *monitor = light_claimed_monitor(obj, self, load_rlx_u32(&obj->lock_word));
    if (!object_monitor_enter_at_once(monitor, self))
        object_monitor_enter(monitor, self);
    return SUCCESS;
}

/* Acquires a lock that is inflated. */
LOCK_SLOW lock_result_t light_acquire_inflated(lock_object_t *obj, lock_thread_t *self,
                                               uint32_t word) {
    if (LOCK_LIKELY(object_monitor_enter_at_once(light_monitor(obj, self, word), self)))
        return SUCCESS;
    return light_acquire_slow(obj, self);
}

static inline lock_result_t hotspot_light_acquire(lock_object_t *obj, lock_thread_t *self) {
    light_stack_t *stack = light_stack(self);
    light_clear_box(stack);
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (!LOCK_LIKELY(!(word & LIGHT_INFLATED)))
        return light_acquire_inflated(obj, self, word);
    if (!LOCK_LIKELY(stack->used < LIGHT_STACK))
        return light_acquire_slow(obj, self);
    if (LOCK_LIKELY(!light_on_top(stack, obj)) &&
        !LOCK_LIKELY(cas_acq_u32(&obj->lock_word, word | LIGHT_FREE, word & ~LIGHT_FREE)))
        return light_acquire_slow(obj, self);
    light_push(stack, obj);
    return SUCCESS;
}

/* Releases a lock that is not on top of the stack, or not flat any more. */
LOCK_SLOW lock_result_t light_release_slow(lock_object_t *obj, lock_thread_t *self) {
    light_stack_t *stack = light_stack(self);
    uint32_t word = load_rlx_u32(&obj->lock_word), holds = light_count(stack, obj);
    if (word & LIGHT_INFLATED)
        return object_monitor_exit(light_claimed_monitor(obj, self, word), self);
    if (holds == 0)
        return ILLEGAL_STATE;
    if (holds > 1 || !cas_rel_u32(&obj->lock_word, word, word | LIGHT_FREE))
        return object_monitor_exit(light_inflate_mine(obj, self), self);
    light_remove(stack, obj);
    return SUCCESS;
}

/* Releases a lock that is not on top of the stack, mostly since it is inflated. */
LOCK_SLOW lock_result_t light_release_inflated(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    monitor_t *monitor = word & LIGHT_INFLATED ? light_monitor(obj, self, word) : 0;
    if (LOCK_LIKELY(monitor != 0) && LOCK_LIKELY(object_monitor_held_by(monitor, self)))
        return object_monitor_exit(monitor, self);
    return light_release_slow(obj, self);
}

static inline lock_result_t hotspot_light_release(lock_object_t *obj, lock_thread_t *self) {
    light_stack_t *stack = light_stack(self);
    if (!LOCK_LIKELY(light_on_top(stack, obj)))
        return light_release_inflated(obj, self);
    stack->used--;
    if (!LOCK_LIKELY(!light_on_top(stack, obj)))
        return SUCCESS;
    uint32_t held = load_rlx_u32(&obj->lock_word) & ~LIGHT_STATE;
    /* locked -> free, unless it has been inflated */
    if (LOCK_LIKELY(cas_rel_u32(&obj->lock_word, held, held | LIGHT_FREE)))
        return SUCCESS;
    stack->used++;
    return light_release_slow(obj, self);
}

LOCK_SLOW lock_result_t hotspot_light_wait(lock_object_t *obj, lock_thread_t *self) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & LIGHT_INFLATED)
        return object_monitor_wait(light_claimed_monitor(obj, self, word), self);
    if (light_count(light_stack(self), obj) == 0)
        return ILLEGAL_STATE;
    return object_monitor_wait(light_inflate_mine(obj, self), self);
}

/* Flat, nobody can be waiting for a notification. */
static inline lock_result_t hotspot_light_notify(lock_object_t *obj, lock_thread_t *self,
                                                 uint32_t limit) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    if (word & LIGHT_INFLATED)
        return object_monitor_notify(light_claimed_monitor(obj, self, word), self, limit);
    return light_count(light_stack(self), obj) != 0 ? SUCCESS : ILLEGAL_STATE;
}

static inline bool hotspot_light_is_idle(lock_object_t *obj) {
    uint32_t word = load_rlx_u32(&obj->lock_word);
    return word & LIGHT_INFLATED
               ? object_monitor_is_idle(light_monitor(obj, &lock_threads[0], word))
               : (word & LIGHT_STATE) == LIGHT_FREE;
}

#endif
