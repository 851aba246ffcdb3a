/*
 * What a critical section may declare about itself, for the locks that make use of it. For all
 * others each of these compiles to the plain operation: acquire, release, store, safepoint.
 *
 *   short      it never blocks: other threads may spin (io_spin.h)
 *   failsafe   it cannot throw: no exception handler has to release its lock (lifted.h)
 *   revocable  it can be rolled back and begun again (revocable.h)
 *
 * A revocable section does all its writes to shared data in this way, and polls in each loop:
 *
 *     lock_section_t section = {0};
 *   again:
 *     lock_section_begin(&section, obj, self);
 *     ...
 *         lock_section_write(self, &shared, value);
 *         if (lock_section_poll(self))
 *             goto again;
 *     ...
 *     lock_section_end(&section, self);
 *
 * Once poll has reported a roll-back, every section for which lock_section_is_open is false is
 * over: nested code leaves them one by one, and the outermost of them begins again. The program
 * itself restores local variables that it has changed. Revocable sections note no lock events
 * (events.h), which have none for a roll-back.
 *
 * A lock's header may define LOCK_KNOWS_HOLDER, LOCK_ACQUIRE_SHORT, LOCK_ACQUIRE_FAILSAFE and
 * LOCK_RELEASE_FAILSAFE, or, where it gives the functions itself, LOCK_HAS_PRIORITIES and
 * LOCK_HAS_SECTIONS.
 */
#ifndef LOCKCROSS_SECTION_H
#define LOCKCROSS_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "events.h"
#include "lock.h"
#include "monitor/processor.h"
#include "safepoint.h"
#include "types.h"

#ifndef LOCK_KNOWS_HOLDER
#define LOCK_KNOWS_HOLDER true
#endif

/* Whether the lock detects a release, wait or notify by a thread that does not hold it. */
static inline bool lock_knows_holder(void) { return LOCK_KNOWS_HOLDER; }

/* Acquires the lock for a short section that never blocks; lock_release ends it. */
static inline lock_result_t lock_acquire_short(lock_object_t *obj, lock_thread_t *self) {
#ifdef LOCK_ACQUIRE_SHORT
    return LOCK_NOTED_AS(LOCK_ACQUIRE_SHORT(obj, self), EVENT_ACQUIRE, EVENT_ACQUIRED);
#else
    return lock_acquire(obj, self);
#endif
}

/* Acquires the lock for a section that cannot throw. */
static inline lock_result_t lock_acquire_failsafe(lock_object_t *obj, lock_thread_t *self) {
#ifdef LOCK_ACQUIRE_FAILSAFE
    return LOCK_NOTED_AS(LOCK_ACQUIRE_FAILSAFE(obj, self), EVENT_ACQUIRE, EVENT_ACQUIRED);
#else
    return lock_acquire(obj, self);
#endif
}

/* Ends a section that lock_acquire_failsafe began. */
static inline lock_result_t lock_release_failsafe(lock_object_t *obj, lock_thread_t *self) {
#ifdef LOCK_RELEASE_FAILSAFE
    return LOCK_NOTED_AS(LOCK_RELEASE_FAILSAFE(obj, self), EVENT_RELEASE, EVENT_RELEASE);
#else
    return lock_release(obj, self);
#endif
}

#ifndef LOCK_HAS_PRIORITIES
/* Sets the priority of `self`, 0 to 7, for its processor and for the lock. It must hold nothing. */
static inline void lock_set_priority(lock_thread_t *self, uint32_t priority) {
    processor_set_priority(self, priority);
}
#endif

#ifndef LOCK_HAS_SECTIONS
typedef struct {
    lock_object_t *object;
} lock_section_t;

/* Acquires obj's lock for a section that may be begun again. */
static inline lock_result_t lock_section_begin(lock_section_t *section, lock_object_t *obj,
                                               lock_thread_t *self) {
    section->object = obj;
    return lock_acquire(obj, self);
}

/* The normal end of a section. */
static inline lock_result_t lock_section_end(lock_section_t *section, lock_thread_t *self) {
    return lock_release(section->object, self);
}

/* Whether a section that was begun has still to be ended. */
static inline bool lock_section_is_open(const lock_section_t *section, const lock_thread_t *self) {
    (void)section, (void)self;
    return true;
}

/* A write to shared data, undone if the section is rolled back. */
static inline void lock_section_write(lock_thread_t *self, volatile uint64_t *p, uint64_t value) {
    (void)self;
    store_rlx_u64(p, value);
}

/* A write to a volatile variable, which others may read without the lock. */
static inline void lock_section_write_volatile(lock_thread_t *self, volatile uint64_t *p,
                                               uint64_t value) {
    (void)self;
    store_rel_u64(p, value);
}

/* Announces something that cannot be undone: a call of native code. */
static inline void lock_section_native(lock_thread_t *self) { (void)self; }

/* Waits on the section's own lock. A later roll-back returns to this point, so a section that is
 * begun again with `lock_section_waits` above zero skips what comes before its wait. */
static inline lock_result_t lock_section_wait(lock_section_t *section, lock_thread_t *self) {
    return lock_wait(section->object, self);
}

static inline uint32_t lock_section_waits(const lock_section_t *section) {
    (void)section;
    return 0;
}

/* A safepoint inside a section, where it may be revoked: true if it was rolled back. */
static inline bool lock_section_poll(lock_thread_t *self) {
    lock_safepoint(self);
    return false;
}
#endif

#endif
