/*
 * hotspot_stack: stack locking, the lock of OpenJDK up to 22 (LM_LEGACY, then with biased locking
 * up to 17), read in openjdk/jdk before its removal: src/hotspot/share/oops/markWord.hpp,
 * src/hotspot/share/runtime/synchronizer.cpp, and fast_lock and fast_unlock of
 * src/hotspot/cpu/{x86,aarch64}/c2_MacroAssembler_*.cpp.
 *
 * The holder's frame keeps the header word, and the word refers to the place in the frame. Acquire:
 * a store of the word into the frame, and a CAS; where it fails, the word may refer to the thread's
 * own frame: a nested acquisition. Release: a CAS of the kept word. Who inflates a lock that is
 * held flat takes the word away first (INFLATING), so that the holder can neither release it nor
 * leave its frame, reads the header that the frame keeps, and makes that place in the frame the
 * owner of the monitor. The holder, whose CAS fails, then finds that it owns the monitor.
 *
 *    31                     8 7       2 1    0
 *   +------------------------+---------+------+
 *   | 0                      | misc    | 01   |   free
 *   | number of a frame's record       | 00   |   held flat; the record keeps the word
 *   | 0                                | 00   |   INFLATING: wait until it is inflated
 *   | monitor index          | misc    | 10   |   inflated: parts/object_monitor.h
 *   +------------------------+---------+------+
 *
 * Choices: a record of the thread's own pool (record_pool.h) stands for the place in the frame. It
 * counts nested acquisitions, of which each has a place of its own in HotSpot, marked by a zero. So
 * a nest never inflates the lock, which therefore does not say when it is inflated (LOCK_IS_FAT).
 * The monitor is that of JDK 24, where the monitor of stack locking's days had two queues and, up
 * to 23, timed parks in place of the order in exit. The monitor's index does not displace the misc
 * bits of the word. Who inflates a free lock holds it.
 */
#ifndef LOCKCROSS_HOTSPOT_STACK_H
#define LOCKCROSS_HOTSPOT_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "parts/stack_lock.h" /* first, since it declares a part of each monitor */

#include "arch/arch.h"
#include "parts/object_monitor.h"
#include "types.h"

enum {
    hotspot_stack_initial_word = STACK_FREE,
    hotspot_stack_tid_shift = 0,
    hotspot_stack_misc_mask = STACK_MISC
};

#define LOCK_WORD_IS_VALID(word) stack_word_is_valid(word)

#define LOCK_ON_OBJECT_INIT(obj) object_monitor_renew_of(obj)

static inline lock_result_t hotspot_stack_acquire(lock_object_t *obj, lock_thread_t *self) {
    return stack_acquire(obj, self, load_rlx_u32(&obj->lock_word));
}

static inline lock_result_t hotspot_stack_release(lock_object_t *obj, lock_thread_t *self) {
    return stack_release(obj, self, load_rlx_u32(&obj->lock_word));
}

static inline lock_result_t hotspot_stack_wait(lock_object_t *obj, lock_thread_t *self) {
    return stack_wait(obj, self);
}

static inline lock_result_t hotspot_stack_notify(lock_object_t *obj, lock_thread_t *self,
                                                 uint32_t limit) {
    return stack_notify(obj, self, limit);
}

static inline bool hotspot_stack_is_idle(lock_object_t *obj) { return stack_is_idle(obj); }

#endif
