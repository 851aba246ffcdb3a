/* wait and notify of a lock that has neither (without TRAIT_JAVA in locks.def). */
#ifndef LOCKCROSS_WITHOUT_WAIT_H
#define LOCKCROSS_WITHOUT_WAIT_H

#include <stdint.h>

#include "arch/arch.h"
#include "types.h"

#define LOCK_WITHOUT_WAIT(name)                                                                    \
    static inline lock_result_t name##_wait(lock_object_t *obj, lock_thread_t *self) {             \
        (void)obj, (void)self;                                                                     \
        return ILLEGAL_STATE;                                                                      \
    }                                                                                              \
    static inline lock_result_t name##_notify(lock_object_t *obj, lock_thread_t *self,             \
                                              uint32_t limit) {                                    \
        (void)limit;                                                                               \
        return name##_wait(obj, self);                                                             \
    }

#endif
