/*
 * The variant jdk131 of tasuki.h and reservation.h: the lock as Kawachiya 2005, section 5.5.1,
 * measured it in IBM's JDK 1.3.1. The functions are "called from but not inlined into the JIT
 * generated code", and have an lfence in the acquisition and an sfence in the release. Where the
 * source is silent: the fences stand on every path, nested ones too; the load fence is the last of
 * an acquisition, the store fence the first of a release.
 *
 * The lock defines <name>_acquire_inlined and <name>_release_inlined.
 */
#ifndef LOCKCROSS_CALLED_WITH_FENCES_H
#define LOCKCROSS_CALLED_WITH_FENCES_H

#include "arch/section_fences.h"
#include "types.h"

#define CALLED_WITH_FENCES(name)                                                                   \
    LOCK_SLOW lock_result_t name##_acquire(lock_object_t *obj, lock_thread_t *self) {              \
        lock_result_t result = name##_acquire_inlined(obj, self);                                  \
        fence_of_acquisition();                                                                    \
        return result;                                                                             \
    }                                                                                              \
    LOCK_SLOW lock_result_t name##_release(lock_object_t *obj, lock_thread_t *self) {              \
        fence_of_release();                                                                        \
        return name##_release_inlined(obj, self);                                                  \
    }

#endif
