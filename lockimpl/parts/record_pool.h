/*
 * Pools of records that hold a thread's own part of a lock: the queue nodes of mcs.h, the lock
 * records of meta.h. Every thread has RECORDS_EACH of them, for as many locks as it can hold or
 * wait for at once, and a record is in use while its `holds` is not zero. A lock word names a
 * record by its number, from 1; 0 names none.
 */
#ifndef LOCKCROSS_RECORD_POOL_H
#define LOCKCROSS_RECORD_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "types.h"

#ifndef RECORDS_EACH
#define RECORDS_EACH SMALL_IN_MODEL(16u, 2u)
#endif

/* Whether a record of `self` has this number, which may be 0. */
static inline bool record_is_mine(uint32_t number, const lock_thread_t *self) {
    return number - 1 - (self->tid - 1) * RECORDS_EACH < RECORDS_EACH;
}

#ifdef LOCKCROSS_STORAGE
#define RECORD_POOL_STORAGE
#else
#define RECORD_POOL_STORAGE extern
#endif

/* Defines the pool of records of a type, which has a field `holds` that only its thread uses, and
 *   record_at(number)   the record with that number
 *   record_take(self)   the number of a record of `self` that is not in use, mostly the first */
#define RECORD_POOL(type)                                                                          \
    RECORD_POOL_STORAGE type record_pool[LOCK_MAX_THREADS * RECORDS_EACH];                         \
    static inline type *record_at(uint32_t number) { return &record_pool[number - 1]; }            \
    LOCK_SLOW uint32_t record_find_free(uint32_t number) {                                         \
        for (uint32_t end = number + RECORDS_EACH; number != end; number++) {                      \
            if (record_at(number)->holds == 0)                                                     \
                return number;                                                                     \
        }                                                                                          \
        lock_fatal("a thread holds or waits for too many locks at once: 16 are allowed");          \
    }                                                                                              \
    static inline uint32_t record_take(const lock_thread_t *self) {                                \
        uint32_t first = (self->tid - 1) * RECORDS_EACH + 1;                                       \
        return LOCK_LIKELY(record_at(first)->holds == 0) ? first : record_find_free(first);        \
    }

#endif
