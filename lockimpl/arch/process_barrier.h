/*
 * The process-wide barrier: the heavy side of an asymmetric fence (Linux's membarrier, command
 * PRIVATE_EXPEDITED; Windows' FlushProcessWriteBuffers). Every thread of the process that runs
 * executes a full fence between its call and its return, and so does the caller. So whatever a
 * thread did before its fence the caller sees afterwards, and whatever it does after it sees what
 * the caller did before the call:
 *
 *   light side                      heavy side
 *   store a                         store b, or a CAS
 *   (compiler's order alone)        process_barrier
 *   load b                          load a
 *
 * Not both loads miss the other side's store. Two light sides have no order: both may.
 *
 * The kernel interrupts the other processors. In simulated time the engine charges the caller, and
 * each processor that it interrupts (docs/interfaces.md, section 5); its accesses are made in the
 * order of simulated time already. To a model checker it is a step of its own.
 */
#ifndef LOCKCROSS_PROCESS_BARRIER_H
#define LOCKCROSS_PROCESS_BARRIER_H

#ifndef LOCKCROSS_ARCH_H
#error "include arch/arch.h"
#endif

#include "host.h"

#ifdef LOCKCROSS_MODEL

/* Defined by the checker. */
void prove_process_barrier(void);

static inline void process_barrier(void) { prove_process_barrier(); }

#else

/* A kind of charge_t, which other fence kinds do not have. */
#define CHARGE_BARRIER ((charge_t)5)

static inline void process_barrier(void) {
    charge(CHARGE_BARRIER);
    lock_process_barrier();
}

#endif

#endif
