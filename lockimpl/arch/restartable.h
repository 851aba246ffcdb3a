/*
 * Restartable sequences: how a thread changes a word that is its own with plain loads and stores,
 * and is kept from doing so when another thread takes the word away. They are the unsafe regions
 * of Kawachiya 2005, 5.3.2, Figures 5.7 and 5.8.
 *
 *   restartable_add_u32(p, mask, expected, field, except, add, self, &seen)
 *
 * adds `add` to *p if (*p & mask) == expected and (*p & field) != except, and returns whether it
 * did; `seen` is the old value. It is not atomic. From the load to the store it is one run of
 * instructions without side effects (Properties 5.1 and 5.2), which may start again at the load
 * from any point inside. Whoever has stopped the thread by a signal calls restartable_repair with
 * the context that the signal saved (Linux's ucontext_t); then a store that was still to come does
 * not take place. There are two ways:
 *
 *   by address    Each sequence, wherever it was inlined, leaves its bounds in a section of the
 *                 program (5.4.3). A program counter between them is moved to the load.
 *   by predicate  (RESTARTABLE_PREDICATED) The store depends on a register that is dedicated to
 *                 this in the whole program, and the repair sets it to false, wherever the thread
 *                 is (5.4.4). IA-64 can qualify stores by a predicate register. Here it is the
 *                 register that holds the store's address, and false is the address of a word of
 *                 the thread's own: a single store instruction too, to the lock word or not at all.
 *                 5.4.4 does not say how the thread learns which of the two happened. The predicate
 *                 cannot say, since it may have become false after the store. Here the thread's own
 *                 word does: it is zero unless the store went there. So a stored value must not be
 *                 zero.
 *
 * Each ISA's file defines the code, RESTARTABLE_CODE(store), its operands and clobbers, and where
 * program counter and predicate are in a context (CONTEXT_PC, CONTEXT_PREDICATE: bytes).
 */
#ifndef LOCKCROSS_RESTARTABLE_H
#define LOCKCROSS_RESTARTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "types.h"

#ifdef LOCKCROSS_MODEL

/* Models have no signals, so nothing is ever repaired and the handshake stands in: a load, the
 * tests, and a store. */
static inline bool restartable_add_u32(volatile uint32_t *p, uint32_t mask, uint32_t expected,
                                       uint32_t field, uint32_t except, uint32_t add,
                                       const lock_thread_t *self, uint32_t *seen) {
    (void)self;
    *seen = load_rlx_u32(p);
    if ((*seen & mask) != expected || (*seen & field) == except)
        return false;
    store_rlx_u32(p, *seen + add);
    return true;
}

static inline void restartable_repair(void *context, const lock_thread_t *thread) {
    (void)context, (void)thread;
}

#else

#define LOCKCROSS_ARCH_FILE
#if defined(__x86_64__)
#include "arch/restartable_x86_64.h"
#elif defined(__powerpc64__)
#include "arch/restartable_ppc64le.h"
#else
#include "arch/restartable_aarch64.h"
#endif
#undef LOCKCROSS_ARCH_FILE

#define RESTARTABLE_OPERANDS                                                                       \
    [p] RESTARTABLE_ADDRESS(p), [mask] RESTARTABLE_VALUE(mask),                                    \
        [expected] RESTARTABLE_VALUE(expected), [field] RESTARTABLE_VALUE(field),                  \
        [except] RESTARTABLE_VALUE(except), [add] RESTARTABLE_VALUE(add)

#ifdef RESTARTABLE_PREDICATED

register uintptr_t restartable_predicate __asm__(RESTARTABLE_PREDICATE);

typedef struct {
    volatile uint32_t word;
} __attribute__((aligned(LOCK_LINE))) restartable_own_t;

extern restartable_own_t restartable_own[LOCK_MAX_THREADS];
#ifdef LOCKCROSS_STORAGE
restartable_own_t restartable_own[LOCK_MAX_THREADS];
#endif

static inline __attribute__((always_inline)) bool
restartable_add_u32(volatile uint32_t *p, uint32_t mask, uint32_t expected, uint32_t field,
                    uint32_t except, uint32_t add, const lock_thread_t *self, uint32_t *seen) {
    volatile uint32_t *own = &restartable_own[self->tid - 1].word;
    uint32_t word, next;
    for (;;) {
        __asm__ volatile goto(RESTARTABLE_SET_TRUE RESTARTABLE_CODE(RESTARTABLE_STORE_IF_TRUE)
                                  RESTARTABLE_IF_OWN("again")
                              : [word] "=&r"(word), [next] "=&r"(next)
                              : RESTARTABLE_OPERANDS, [own] RESTARTABLE_ADDRESS(own)
                              : RESTARTABLE_CLOBBERS
                              : refused, again);
        *seen = word;
        return true;
    again:
        store_rlx_u32(own, 0);
    }
refused:
    *seen = word;
    return false;
}

static inline void restartable_repair(void *context, const lock_thread_t *thread) {
    *(uintptr_t *)((char *)context + CONTEXT_PREDICATE) =
        (uintptr_t)&restartable_own[thread->tid - 1].word;
}

#else

typedef struct {
    uintptr_t begin, end; /* of the load; behind the store */
} restartable_bounds_t;

/* The linker's names for the ends of the section; null in a program without sequences. */
extern const restartable_bounds_t __start_lockcross_restartable[] __attribute__((weak));
extern const restartable_bounds_t __stop_lockcross_restartable[] __attribute__((weak));

#define RESTARTABLE_BOUNDS                                                                         \
    ".pushsection lockcross_restartable, \"a\"\n\t"                                                \
    ".balign 8\n\t"                                                                                \
    ".quad 1b, 2b\n\t"                                                                             \
    ".popsection"

static inline __attribute__((always_inline)) bool
restartable_add_u32(volatile uint32_t *p, uint32_t mask, uint32_t expected, uint32_t field,
                    uint32_t except, uint32_t add, const lock_thread_t *self, uint32_t *seen) {
    uint32_t word, next;
    (void)self;
    __asm__ volatile goto(RESTARTABLE_CODE(RESTARTABLE_STORE) RESTARTABLE_BOUNDS
                          : [word] "=&r"(word), [next] "=&r"(next)
                          : RESTARTABLE_OPERANDS
                          : RESTARTABLE_CLOBBERS
                          : refused);
    *seen = word;
    return true;
refused:
    *seen = word;
    return false;
}

/* Where a thread whose next instruction is at `pc` must continue. */
static inline uintptr_t restartable_point(uintptr_t pc) {
    for (const restartable_bounds_t *region = __start_lockcross_restartable;
         region < __stop_lockcross_restartable; region++) {
        if (pc - region->begin < region->end - region->begin)
            return region->begin;
    }
    return pc;
}

static inline void restartable_repair(void *context, const lock_thread_t *thread) {
    uintptr_t *pc = (uintptr_t *)((char *)context + CONTEXT_PC);
    (void)thread;
    *pc = restartable_point(*pc);
}

#endif
#endif
#endif
