/*
 * direct: direct pointing by data displacement, Kawachiya 2005, section 2.4.2, Figures 2.8, 2.9.
 *
 * When an object is first used for a lock it gets a monitor, and a pointer to it takes the place of
 * a rarely used header word, such as the hash code; the monitor keeps the displaced word. One bit
 * of the header's flags says which of the two the word is. It is set once, with a global lock held;
 * from then on a load of the flags and one of the pointer find the monitor, and no table is
 * searched.
 *
 *    63                            0     31                        1  0
 *   +-------------------------------+   +---------------------------+--+
 *   | rarely used information       |   | not the lock's            |0 |   no monitor yet
 *   +-------------------------------+   +---------------------------+--+
 *   | pointer to the monitor        |   | not the lock's            |1 |   OBJFLAG_MON_ASSOCIATED
 *   +-------------------------------+   +---------------------------+--+
 *            extra[0]                     flag word; the lock word is not the lock's: misc
 *
 * Where the source is silent: the flag is set with release after the pointer and tested with
 * acquire before it, as a weakly ordered ISA requires.
 */
#ifndef LOCKCROSS_DIRECT_H
#define LOCKCROSS_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#define MONITOR_PART uint64_t displaced; /* the header word that a pointer to this displaced */
#include "arch/arch.h"
#include "monitor/monitor.h"
#include "types.h"

#ifndef MONITOR_POOL_SIZE /* every object that is ever used for a lock has a monitor */
#define MONITOR_POOL_SIZE SMALL_IN_MODEL(16384, 3)
#endif
#include "monitor/monitor_table.h"

enum { direct_initial_word = 0, direct_tid_shift = 0, direct_misc_mask = -1 };

#define DIRECT_ASSOCIATED 1u

static inline monitor_t *direct_pointer(lock_object_t *obj) {
    return (monitor_t *)(uintptr_t)load_rlx_u64(&obj->extra[0]);
}

/* The flag was not seen: gives the object a monitor, if no other thread has done so by now. */
LOCK_SLOW monitor_t *direct_associate(lock_object_t *obj) {
    monitor_t *monitor;
    latch_acquire(&monitor_table.latch);
    uint32_t flags = load_rlx_u32(&obj->flag);
    if (flags & DIRECT_ASSOCIATED) {
        monitor = direct_pointer(obj);
    } else {
        monitor = monitor_create(obj);
        monitor->displaced = load_rlx_u64(&obj->extra[0]);
        store_rlx_u64(&obj->extra[0], (uintptr_t)monitor);
        store_rel_u32(&obj->flag, flags | DIRECT_ASSOCIATED);
    }
    latch_release(&monitor_table.latch);
    return monitor;
}

/* get_monitor of Figure 2.9. */
static inline monitor_t *direct_monitor(lock_object_t *obj) {
    if (LOCK_LIKELY(load_acq_u32(&obj->flag) & DIRECT_ASSOCIATED))
        return direct_pointer(obj);
    return direct_associate(obj);
}

/* The rarely used information, wherever it is now. Takes the global lock, since it may be moving
 * from the header to a monitor. */
static inline uint64_t direct_information(lock_object_t *obj) {
    latch_acquire(&monitor_table.latch);
    bool displaced = load_rlx_u32(&obj->flag) & DIRECT_ASSOCIATED;
    uint64_t found = displaced ? direct_pointer(obj)->displaced : load_rlx_u64(&obj->extra[0]);
    latch_release(&monitor_table.latch);
    return found;
}

static inline lock_result_t direct_acquire(lock_object_t *obj, lock_thread_t *self) {
    monitor_enter(direct_monitor(obj), self);
    return SUCCESS;
}

static inline lock_result_t direct_release(lock_object_t *obj, lock_thread_t *self) {
    return monitor_exit(direct_monitor(obj), self);
}

static inline lock_result_t direct_wait(lock_object_t *obj, lock_thread_t *self) {
    return monitor_wait(direct_monitor(obj), self);
}

static inline lock_result_t direct_notify(lock_object_t *obj, lock_thread_t *self, uint32_t limit) {
    return monitor_notify(direct_monitor(obj), self, limit);
}

static inline bool direct_is_idle(lock_object_t *obj) {
    return monitor_is_idle(direct_monitor(obj));
}

#endif
