/*
 * What the mutexes of runtimes lack of lock.h's contract, kept in the flag word: the holder and its
 * nested acquisitions. Part of futex_mutex.h and its like. Only the holder writes the word: it
 * costs each of them a load and a store on both sides. None has wait and notify.
 *
 *    31                               8 7        0
 *   +----------------------------------+----------+
 *   | acquisitions - 1                 | tid      |   flag word; 0: nobody
 *   +----------------------------------+----------+
 */
#ifndef LOCKCROSS_PLAIN_MUTEX_H
#define LOCKCROSS_PLAIN_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "parts/without_wait.h"
#include "types.h"

#define PLAIN_TID 0x000000ffu
#define PLAIN_HOLD 0x00000100u

static inline bool plain_is_mine(uint32_t flag, const lock_thread_t *self) {
    return (flag & PLAIN_TID) == self->tid;
}

/* The lock <name> of a mutex for which its header has defined <name>_lock(obj, self),
 * <name>_unlock(obj) and a word that is zero while it is free. */
#define PLAIN_MUTEX(name)                                                                          \
    enum { name##_initial_word = 0, name##_tid_shift = 0, name##_misc_mask = 0 };                  \
    static inline lock_result_t name##_acquire(lock_object_t *obj, lock_thread_t *self) {          \
        uint32_t flag = load_rlx_u32(&obj->flag);                                                  \
        if (!LOCK_LIKELY(!plain_is_mine(flag, self))) {                                            \
            store_rlx_u32(&obj->flag, flag + PLAIN_HOLD);                                          \
            return SUCCESS;                                                                        \
        }                                                                                          \
        name##_lock(obj, self);                                                                    \
        store_rlx_u32(&obj->flag, self->tid);                                                      \
        return SUCCESS;                                                                            \
    }                                                                                              \
    static inline lock_result_t name##_release(lock_object_t *obj, lock_thread_t *self) {          \
        uint32_t flag = load_rlx_u32(&obj->flag);                                                  \
        if (!LOCK_LIKELY(plain_is_mine(flag, self)))                                               \
            return ILLEGAL_STATE;                                                                  \
        if (!LOCK_LIKELY(flag == self->tid)) {                                                     \
            store_rlx_u32(&obj->flag, flag - PLAIN_HOLD);                                          \
            return SUCCESS;                                                                        \
        }                                                                                          \
        store_rlx_u32(&obj->flag, 0);                                                              \
        name##_unlock(obj);                                                                        \
        return SUCCESS;                                                                            \
    }                                                                                              \
    LOCK_WITHOUT_WAIT(name)                                                                        \
    static inline bool name##_is_idle(lock_object_t *obj) {                                        \
        return load_rlx_u32(&obj->lock_word) == 0 && load_rlx_u32(&obj->flag) == 0;                \
    }

#endif
