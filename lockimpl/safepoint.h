/* Safepoints: where a thread may be stopped by another, and a yield point. */
#ifndef LOCKCROSS_SAFEPOINT_H
#define LOCKCROSS_SAFEPOINT_H

#include "monitor/handshake.h"
#include "monitor/processor.h"
#include "types.h"

/* To be called often, but never inside acquire or release. Without a request it is one load and one
 * branch, two of each where threads share processors. */
static inline void lock_safepoint(lock_thread_t *self) {
    handshake_poll(self);
    processor_poll(self);
}

#endif
