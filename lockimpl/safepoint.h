/* Safepoints: where a thread may be stopped by another, and a yield point. */
#ifndef LOCKCROSS_SAFEPOINT_H
#define LOCKCROSS_SAFEPOINT_H

#include "monitor/handshake.h"
#include "monitor/processor.h"
#include "types.h"

/* To be called often, never inside acquire or release. One load and one branch when nothing is
 * asked (two where processors are shared). */
static inline void lock_safepoint(lock_thread_t *self) {
    handshake_poll(self);
    processor_poll(self);
}

#endif
