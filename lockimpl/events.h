/*
 * Lock events: what a program compiled with -DLOCKCROSS_EVENTS=1 reports to an engine about each
 * lock operation (docs/interfaces.md, sections 5 and 6). Any other program is compiled as if this
 * file did not exist.
 *
 * An acquisition is noted when it begins and when it is done, and so is a wait. A release, a notify
 * and a notify_all are noted before they happen, so that a lock is held from `acquired` to
 * `release`.
 *
 * A lock that has modes defines LOCK_IS_FAT(obj): whether the lock word is inflated.
 */
#ifndef LOCKCROSS_EVENTS_H
#define LOCKCROSS_EVENTS_H

#include <stdbool.h>

#include "registry.h"
#include "types.h"

#ifdef LOCKCROSS_EVENTS

typedef enum {
    EVENT_OBJECT_MADE = 0,
    EVENT_ACQUIRE = 1,
    EVENT_ACQUIRED = 2,
    EVENT_RELEASE = 3,
    EVENT_WAIT = 4,
    EVENT_WAITED = 5,
    EVENT_NOTIFY = 6,
    EVENT_NOTIFY_ALL = 7,
    EVENT_NOTHING_DONE = 8 /* ILLEGAL_STATE */
} event_kind_t;

#define EVENT_STATE_FAT 0x100u

#ifndef LOCK_IS_FAT
#define LOCK_IS_FAT(obj) false
#endif

static inline void event_note(lock_object_t *obj, const lock_thread_t *self, event_kind_t kind) {
    unsigned state = LOCK_IS_FAT(obj) ? EVENT_STATE_FAT : 0;
    lock_note_event(self->tid - 1, (unsigned)kind | state, obj);
}

static inline void event_note_object(lock_object_t *obj) {
    lock_note_event(0, EVENT_OBJECT_MADE, obj);
}

/* `done`: what is noted when the operation has succeeded; the same as `begun` for nothing. */
static inline lock_result_t event_note_result(lock_object_t *obj, const lock_thread_t *self,
                                              event_kind_t begun, event_kind_t done,
                                              lock_result_t result) {
    if (result != SUCCESS)
        event_note(obj, self, EVENT_NOTHING_DONE);
    else if (done != begun)
        event_note(obj, self, done);
    return result;
}

#define LOCK_NOTED_AS(call, begun, done)                                                           \
    (event_note(obj, self, begun), event_note_result(obj, self, begun, done, call))

#else

#define event_note_object(obj) ((void)0)
#define LOCK_NOTED_AS(call, begun, done) call

#endif

#define LOCK_NOTED(begun, done, operation, ...)                                                    \
    LOCK_NOTED_AS(LOCK_MEMBER(operation)(obj, self __VA_OPT__(, ) __VA_ARGS__), begun, done)

#endif
