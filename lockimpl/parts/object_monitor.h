/*
 * The monitor of HotSpot, as of JDK 25 (openjdk/jdk, src/hotspot/share/runtime/objectMonitor.cpp):
 * part of hotspot_light.h and hotspot_stack.h, over the fields and the pool of monitor.h.
 *
 * One CAS of the owner enters it. A thread that finds it taken spins twice, each time as long as
 * has paid before: up to 5,000 looks at the owner, with a pause behind 256 of them. Then it pushes
 * itself onto the entry list by a CAS, tries once more and parks, without a timer. Exit stores the
 * owner, orders that store before the next load, and looks at the entry list: mostly it is empty.
 * Otherwise, unless there is a successor, exit takes the owner again by a CAS, makes the thread
 * that has queued longest the successor, leaves and wakes it. The successor stays in the list and
 * competes; who has entered takes itself out.
 *
 *   who enters                        who leaves
 *   push onto the entry list          owner = nobody
 *   load the owner: held, so park     load the entry list: empty, so done
 *
 * Both sides store first and load second, in that order (Dekker). So do a successor that gives up
 * (clears `successor`, loads the owner) and who leaves (owner, successor).
 *
 * The list has its latest thread first, and grows there alone; only the owner takes threads out.
 * `previous` is written by the owner when it needs it, from the head to where it stands already.
 *
 *   entry_list -> T3 -> T2 -> T1   tail: who has queued longest, 0 while that is not known
 *
 * A new monitor is owned by a thread that it does not know: by whoever holds the lock in its flat
 * form. Nobody else enters until that thread has left (object_monitor_claim).
 *
 * A notified thread may go on before it is woken, so notify_all promises no order.
 *
 * With OBJECT_MONITOR_RESPONSIBLE it is the monitor of up to JDK 23. Exit loads the entry list
 * first; where that is empty, it stores the owner and orders nothing. So it may miss a thread that
 * comes meanwhile. What repairs that is a timer: the thread that finds the list empty when it comes
 * is responsible, unless another is, and parks for 1 ms, then 8, 64, 512 and 1,000, until it has
 * entered. Then it says that it is no longer responsible, and orders that before its own exit.
 * HotSpot has two lists there, and an exit that finds threads clears `responsible`, too.
 *
 * With OBJECT_MONITOR_LOOKS_FIRST exit looks for threads before it releases: if some queue, and
 * there is no successor, it chooses and wakes one at once. Otherwise it goes on as above, since
 * one may have come meanwhile. So does HotSpot's runtime from JDK 25 (openjdk/jdk pull request
 * 24927); code of C2 goes on as above.
 *
 * The CAS by which compiled code enters is that of POWER, which releases, too; on AArch64 HotSpot's
 * acquires alone, and nothing here needs more.
 *
 * Threads are named by their tid. Choices: a spinning thread does not look for safepoints; the
 * latch of monitor.h guards the wait set; a monitor never returns to the flat form, where HotSpot
 * has a thread that deflates those that are not in use.
 */
#ifndef LOCKCROSS_OBJECT_MONITOR_H
#define LOCKCROSS_OBJECT_MONITOR_H

#define MONITOR_PART                                                                               \
    volatile uint32_t owner, entry_list; /* a pair, since exit stores one and loads the other */   \
    volatile uint32_t successor;                                                                   \
    uint32_t tail;                                                                                 \
    volatile uint32_t not_spun; /* turns of spinning that did not pay */                           \
    OBJECT_MONITOR_RESPONSIBLE_PART

#ifndef OBJECT_MONITOR_LOOKS_FIRST
#define OBJECT_MONITOR_LOOKS_FIRST 0
#endif
#ifndef OBJECT_MONITOR_RESPONSIBLE
#define OBJECT_MONITOR_RESPONSIBLE 0
#endif
#if OBJECT_MONITOR_RESPONSIBLE
#define OBJECT_MONITOR_RESPONSIBLE_PART volatile uint32_t responsible;
#else
#define OBJECT_MONITOR_RESPONSIBLE_PART
#endif

/* The successor may enter without parking, and be unparked again later (park.h). */
#define PERMITS_MEET 1

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "monitor/park.h"
#if OBJECT_MONITOR_RESPONSIBLE
#include "monitor/timed_park.h"
#endif
#include "parts/bounded_spin.h"
#include "types.h"

#define LOCK_WAKES_IN_ANY_ORDER 1
#define OBJECT_MONITOR_NOBODY 0xffffffffu

/* Turns of spinning: always, at most, and what a success adds and a failure takes away. */
#define OBJECT_MONITOR_SPINS_ALWAYS SMALL_IN_MODEL(10u, 0u)
#ifndef OBJECT_MONITOR_SPINS
#define OBJECT_MONITOR_SPINS SMALL_IN_MODEL(5000u, 1u)
#endif
#define OBJECT_MONITOR_SPINS_LEAST SMALL_IN_MODEL(1000u, 0u) /* after a success */
#define OBJECT_MONITOR_BONUS 100u
#define OBJECT_MONITOR_TURNS_A_PAUSE 256u
#define OBJECT_MONITOR_PENALTY 200u

/* How often a thread spins before it queues. */
#define OBJECT_MONITOR_ATTEMPTS SMALL_IN_MODEL(2u, 1u)

typedef enum { WAITER_ENTERS, WAITER_WAITS } waiter_state_t;

/* A thread's place in the entry list, of one monitor at a time. */
typedef struct {
    volatile uint32_t next; /* who came before, or 0 */
    uint32_t previous;      /* who came after, or 0; known to the owner alone */
    volatile uint32_t state;
} __attribute__((aligned(LOCK_LINE))) waiter_t;

extern waiter_t waiters[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
waiter_t waiters[LOCK_MAX_THREADS];
#endif

static inline waiter_t *waiter_at(uint32_t tid) { return &waiters[tid - 1]; }

static inline bool object_monitor_held_by(const monitor_t *monitor, const lock_thread_t *self) {
    return load_rlx_u32(&monitor->owner) == self->tid;
}

static inline bool object_monitor_has_unknown_owner(const monitor_t *monitor) {
    return load_rlx_u32(&monitor->owner) == 0;
}

/* The object is a new one, where another has been: its monitor knows no owner. */
static inline void object_monitor_renew(monitor_t *monitor) { store_rlx_u32(&monitor->owner, 0); }

/* The same, if the table of monitor_table.h has a monitor for it. */
static inline void object_monitor_renew_of(const lock_object_t *obj) {
    monitor_t *monitor = *monitor_bucket(obj);
    while (monitor && monitor->object != obj)
        monitor = monitor->hash_next;
    if (monitor)
        object_monitor_renew(monitor);
}

/* `self` is the owner that the monitor does not know, and has acquired the lock so often. */
static inline void object_monitor_claim(monitor_t *monitor, lock_thread_t *self, uint32_t holds) {
    monitor->recursion = holds;
    store_rlx_u32(&monitor->owner, self->tid);
}

static inline bool object_monitor_try(monitor_t *monitor, const lock_thread_t *self) {
    return load_rlx_u32(&monitor->owner) == OBJECT_MONITOR_NOBODY &&
           cas_acq_u32(&monitor->owner, OBJECT_MONITOR_NOBODY, self->tid);
}

/* Puts a thread into the entry list. Fails if another comes before it. */
static inline bool object_monitor_push(monitor_t *monitor, uint32_t tid) {
    waiter_t *waiter = waiter_at(tid);
    uint32_t head = load_rlx_u32(&monitor->entry_list);
    waiter->previous = 0;
    store_then_fence_u32(&waiter->next, head);
    return cas_then_fence_u32(&monitor->entry_list, head, tid);
}

/* The functions from here to object_monitor_unlink are the owner's. */

/* Writes `previous` where it is not known, and the tail. */
static inline void object_monitor_link_back(monitor_t *monitor) {
    uint32_t later = 0, at = load_acq_u32(&monitor->entry_list);
    for (; at && waiter_at(at)->previous == 0; at = load_rlx_u32(&waiter_at(at)->next)) {
        waiter_at(at)->previous = later;
        later = at;
    }
    if (!at)
        monitor->tail = later;
}

/* Takes `self` out of the entry list. */
static inline void object_monitor_unlink(monitor_t *monitor, const lock_thread_t *self) {
    waiter_t *waiter = waiter_at(self->tid);
    uint32_t next = load_rlx_u32(&waiter->next);
    bool at_head = load_rlx_u32(&monitor->entry_list) == self->tid &&
                   cas_rlx_u32(&monitor->entry_list, self->tid, next);
    if (!at_head) {
        if (waiter->previous == 0)
            object_monitor_link_back(monitor);
        store_rlx_u32(&waiter_at(waiter->previous)->next, next);
    }
    if (next)
        waiter_at(next)->previous = waiter->previous;
    else
        monitor->tail = waiter->previous;
}

/* `self` is no successor any more; false if it was none. Unless it has entered, it must try once
 * more before it parks. */
static inline bool object_monitor_resign(monitor_t *monitor, const lock_thread_t *self) {
    if (load_rlx_u32(&monitor->successor) != self->tid)
        return false;
    store_then_fence_u32(&monitor->successor, 0);
    return true;
}

/* Spinning has paid. */
static inline void object_monitor_spin_more(monitor_t *monitor) {
    uint32_t most = OBJECT_MONITOR_SPINS - OBJECT_MONITOR_SPINS_LEAST;
    uint32_t before = load_rlx_u32(&monitor->not_spun);
    uint32_t now = before < most ? before : most;
    now -= now < OBJECT_MONITOR_BONUS ? now : OBJECT_MONITOR_BONUS;
    if (now != before)
        store_rlx_u32(&monitor->not_spun, now);
}

/* Spins as long as the owner stays the same and it has paid before. */
static inline bool object_monitor_spin_long(monitor_t *monitor, lock_thread_t *self) {
    uint32_t not_spun = load_rlx_u32(&monitor->not_spun), most = OBJECT_MONITOR_SPINS - not_spun;
    if (most == 0)
        return false;
    uint32_t owner = load_rlx_u32(&monitor->owner);
    for (uint32_t turns = most; turns != 0; turns--) {
        if (load_rlx_u32(&monitor->successor) == 0)
            store_rlx_u32(&monitor->successor, self->tid);
        uint32_t seen = load_rlx_u32(&monitor->owner);
        if (seen == OBJECT_MONITOR_NOBODY) {
            if (!cas_acq_u32(&monitor->owner, OBJECT_MONITOR_NOBODY, self->tid))
                return false;
            object_monitor_spin_more(monitor);
            return true;
        }
        if (seen != owner)
            return false;
        if ((turns - 1) % OBJECT_MONITOR_TURNS_A_PAUSE == 0)
            bounded_pause();
    }
    store_rlx_u32(&monitor->not_spun,
                  not_spun + (most < OBJECT_MONITOR_PENALTY ? most : OBJECT_MONITOR_PENALTY));
    return false;
}

static inline bool object_monitor_spin(monitor_t *monitor, lock_thread_t *self) {
    for (uint32_t turns = OBJECT_MONITOR_SPINS_ALWAYS; turns != 0; turns--) {
        if (object_monitor_try(monitor, self)) {
            object_monitor_spin_more(monitor);
            return true;
        }
        bounded_pause();
    }
    bool entered = object_monitor_spin_long(monitor, self);
    bool resigned = object_monitor_resign(monitor, self);
    return entered || (resigned && object_monitor_try(monitor, self));
}

#if OBJECT_MONITOR_RESPONSIBLE
#define OBJECT_MONITOR_FIRST_PARK MILLISECOND
#define OBJECT_MONITOR_LONGEST_PARK (1000 * MILLISECOND)

/* `self` has put itself into the entry list. */
static inline void object_monitor_take_responsibility(monitor_t *monitor,
                                                      const lock_thread_t *self) {
    if (load_rlx_u32(&waiter_at(self->tid)->next) == 0)
        cas_rlx_u32(&monitor->responsible, 0, self->tid);
}

static inline bool object_monitor_is_responsible(const monitor_t *monitor,
                                                 const lock_thread_t *self) {
    return load_rlx_u32(&monitor->responsible) == self->tid;
}

/* `self` has entered: it will see at its exit who comes from now on. */
static inline void object_monitor_end_responsibility(monitor_t *monitor,
                                                     const lock_thread_t *self) {
    if (object_monitor_is_responsible(monitor, self))
        store_then_fence_u32(&monitor->responsible, 0);
}

/* Parks, for a limited time if `self` is responsible: `limit`, of which the next is longer. */
static inline void object_monitor_park(monitor_t *monitor, lock_thread_t *self, uint64_t *limit) {
    if (!object_monitor_is_responsible(monitor, self)) {
        park(self);
        return;
    }
    uint32_t owner = load_rlx_u32(&monitor->owner);
    if (owner == OBJECT_MONITOR_NOBODY)
        return;
    park_for(self, *limit, &monitor->owner, owner);
    uint64_t longer = *limit * 8;
    bool is_longest = longer >= OBJECT_MONITOR_LONGEST_PARK;
    *limit = is_longest ? OBJECT_MONITOR_LONGEST_PARK : longer;
}

/* Exit before anything is ordered: whether nobody queues, as far as it can be seen. */
static inline bool object_monitor_slip_out(monitor_t *monitor) {
    if (load_rlx_u32(&monitor->entry_list) != 0)
        return false;
    store_rel_u32(&monitor->owner, OBJECT_MONITOR_NOBODY);
    return true;
}
#else
#define OBJECT_MONITOR_FIRST_PARK 0

static inline void object_monitor_take_responsibility(monitor_t *monitor,
                                                      const lock_thread_t *self) {
    (void)monitor, (void)self;
}
static inline void object_monitor_end_responsibility(monitor_t *monitor,
                                                     const lock_thread_t *self) {
    (void)monitor, (void)self;
}
static inline void object_monitor_park(monitor_t *monitor, lock_thread_t *self, uint64_t *limit) {
    (void)monitor, (void)limit;
    park(self);
}
static inline bool object_monitor_slip_out(monitor_t *monitor) {
    (void)monitor;
    return false;
}
#endif

/* Enters the monitor with `self` in its entry list. */
static inline void object_monitor_await(monitor_t *monitor, lock_thread_t *self) {
    uint64_t limit = OBJECT_MONITOR_FIRST_PARK;
    while (!object_monitor_try(monitor, self)) {
        if (object_monitor_resign(monitor, self))
            continue;
        object_monitor_park(monitor, self, &limit);
        if (object_monitor_spin(monitor, self))
            break;
    }
    object_monitor_unlink(monitor, self);
    object_monitor_resign(monitor, self);
    object_monitor_end_responsibility(monitor, self);
}

/* Enters the monitor if nobody else is in it, recursively if `self` is. */
static inline bool object_monitor_enter_at_once(monitor_t *monitor, const lock_thread_t *self) {
    if (LOCK_LIKELY(cas_acq_rel_u32(&monitor->owner, OBJECT_MONITOR_NOBODY, self->tid))) {
        monitor->recursion = 1;
        return true;
    }
    if (!object_monitor_held_by(monitor, self))
        return false;
    monitor->recursion++;
    return true;
}

/* Enters a monitor that `self` is not in, after waiting for it. */
LOCK_SLOW void object_monitor_enter(monitor_t *monitor, lock_thread_t *self) {
    bool entered = false, queued = false;
    for (uint32_t attempts = OBJECT_MONITOR_ATTEMPTS; attempts != 0 && !entered; attempts--)
        entered = object_monitor_spin(monitor, self);
    while (!entered && !queued) {
        queued = object_monitor_push(monitor, self->tid);
        entered = !queued && object_monitor_try(monitor, self);
    }
    if (queued) {
        object_monitor_take_responsibility(monitor, self);
        object_monitor_await(monitor, self);
    }
    monitor->recursion = 1;
}

/* Leaves the monitor. False: threads queue, and none of them is on its way. */
static inline bool object_monitor_drop(monitor_t *monitor) {
    return LOCK_LIKELY(store_rel_u32_then_load_next(&monitor->owner, OBJECT_MONITOR_NOBODY) == 0) ||
           load_rlx_u32(&monitor->successor) != 0;
}

/* Whether the owner, when it leaves, is to wake a thread. */
static inline bool object_monitor_is_to_wake(const monitor_t *monitor) {
    if (OBJECT_MONITOR_LOOKS_FIRST && load_rlx_u32(&monitor->successor) != 0)
        return false;
    return load_rlx_u32(&monitor->entry_list) != 0;
}

/* Leaves the monitor and wakes the thread that has queued longest, which is the successor. */
static inline void object_monitor_hand_on(monitor_t *monitor) {
    if (monitor->tail == 0)
        object_monitor_link_back(monitor);
    uint32_t chosen = monitor->tail;
    store_rlx_u32(&monitor->successor, chosen);
    store_rel_u32(&monitor->owner, OBJECT_MONITOR_NOBODY);
    unpark(&lock_threads[chosen - 1]);
}

/* Behind a drop that has found threads: sees to it that one of them is on its way. If another
 * thread has entered meanwhile, that is for it to do. */
LOCK_SLOW void object_monitor_choose_successor(monitor_t *monitor, lock_thread_t *self) {
    while (object_monitor_try(monitor, self)) {
        if (object_monitor_is_to_wake(monitor)) {
            object_monitor_hand_on(monitor);
            return;
        }
        if (object_monitor_drop(monitor))
            return;
    }
}

/* Exit while `self` is still the owner, if it is to wake a thread. */
static inline bool object_monitor_look_first(monitor_t *monitor) {
    if (!OBJECT_MONITOR_LOOKS_FIRST || LOCK_LIKELY(!object_monitor_is_to_wake(monitor)))
        return false;
    object_monitor_hand_on(monitor);
    return true;
}

/* Undoes one enter. ILLEGAL_STATE if `self` is not in the monitor. */
static inline lock_result_t object_monitor_exit(monitor_t *monitor, lock_thread_t *self) {
    if (!LOCK_LIKELY(object_monitor_held_by(monitor, self)))
        return ILLEGAL_STATE;
    if (--monitor->recursion == 0 && !object_monitor_slip_out(monitor) &&
        !object_monitor_look_first(monitor) && !object_monitor_drop(monitor))
        object_monitor_choose_successor(monitor, self);
    return SUCCESS;
}

/* Leaves the monitor, however deep, until `self` is notified and has entered it again as deep.
 * ILLEGAL_STATE if `self` is not in the monitor. */
LOCK_SLOW lock_result_t object_monitor_wait(monitor_t *monitor, lock_thread_t *self) {
    if (!object_monitor_held_by(monitor, self))
        return ILLEGAL_STATE;
    uint32_t recursion = monitor->recursion;
    waiter_t *waiter = waiter_at(self->tid);
    store_rlx_u32(&waiter->state, WAITER_WAITS);
    latch_acquire(&monitor->latch);
    queue_append(&monitor->waiting, self);
    latch_release(&monitor->latch);
    if (!object_monitor_look_first(monitor) && !object_monitor_drop(monitor))
        object_monitor_choose_successor(monitor, self);
    while (load_rlx_u32(&waiter->state) == WAITER_WAITS)
        park(self);
    object_monitor_await(monitor, self);
    monitor->recursion = recursion;
    return SUCCESS;
}

/* Ends up to `limit` waits, longest first: these threads are in the entry list from then on.
 * ILLEGAL_STATE if `self` is not in the monitor. */
LOCK_SLOW lock_result_t object_monitor_notify(monitor_t *monitor, lock_thread_t *self,
                                              uint32_t limit) {
    if (!object_monitor_held_by(monitor, self))
        return ILLEGAL_STATE;
    for (; limit > 0; limit--) {
        latch_acquire(&monitor->latch);
        lock_thread_t *thread = queue_take(&monitor->waiting);
        latch_release(&monitor->latch);
        if (!thread)
            break;
        while (!object_monitor_push(monitor, thread->tid)) {
        }
        store_rlx_u32(&waiter_at(thread->tid)->state, WAITER_ENTERS);
    }
    return SUCCESS;
}

static inline bool object_monitor_is_idle(const monitor_t *monitor) {
    return load_rlx_u32(&monitor->owner) == OBJECT_MONITOR_NOBODY &&
           load_rlx_u32(&monitor->entry_list) == 0 && load_rlx_u32(&monitor->latch) == 0 &&
           monitor->waiting.head == 0;
}

#endif
