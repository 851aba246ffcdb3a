/*
 * What a client may call besides (prove.h), of a lock with fence kind membarrier.
 */
#ifndef PROVE_BARRIER_H
#define PROVE_BARRIER_H

#ifdef __cplusplus
extern "C" {
#endif

/* A process-wide barrier: each thread executes a full fence between this call and its return, at
 * any moment of its own; the caller one before these and one after. */
void prove_process_barrier(void);

#ifdef __cplusplus
}
#endif

#endif
