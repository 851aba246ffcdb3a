/*
 * For locks whose operations test the processor each time: on a uniprocessor they leave the orders
 * out (Bacon et al. 1998, 3.5, ThinLock; Kawachiya 2005, 4.6, which is built upon it).
 *
 * The test reads a word that is written at the program's start. Where threads share processors, it
 * counts those; elsewhere each thread has a processor of its own.
 */
#ifndef LOCKCROSS_MULTIPROCESSOR_H
#define LOCKCROSS_MULTIPROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "host.h"
#include "types.h"

/* On a cache line of its own, since every operation reads it. */
typedef struct {
    volatile uint32_t is_multiprocessor;
} __attribute__((aligned(LOCK_LINE))) multiprocessor_t;

extern multiprocessor_t multiprocessor;
#ifdef LOCKCROSS_STORAGE
multiprocessor_t multiprocessor;
#endif

static inline bool is_multiprocessor(void) {
    return load_rlx_u32(&multiprocessor.is_multiprocessor);
}

/* Called at the start, for one thread after another. */
#ifdef LOCKCROSS_SCHEDULER
#define LOCK_ON_THREAD_INIT(self, index)                                                           \
    store_rlx_u32(&multiprocessor.is_multiprocessor, processor_count() > 1)
#else
#define LOCK_ON_THREAD_INIT(self, index)                                                           \
    store_rlx_u32(&multiprocessor.is_multiprocessor, (index) > 0)
#endif

#endif
