/*
 * What the runtime notes when the host itself is the engine (-DLOCKCROSS_NATIVE=1); see native.h.
 * Elsewhere it notes nothing. A host thread is a thread of the program or, where these share cores,
 * a carrier.
 */
#ifndef RUNTIME_HOST_H
#define RUNTIME_HOST_H
#ifdef LOCKCROSS_NATIVE
#include <stdint.h>

/* A host thread, before it does anything else. */
void native_begin(unsigned host_thread);
/* It is about to enter the region, with one more barrier to come. */
void native_before(unsigned host_thread);
/* It enters the region; it leaves it. */
void native_enter(unsigned host_thread);
void native_leave(unsigned host_thread);
/* Sleeps in the kernel while *word is 0, at most so many nanoseconds; may return early. */
void native_sleep_for(volatile uint32_t *word, uint64_t nanoseconds);
#else
static inline void native_begin(unsigned host_thread) { (void)host_thread; }
static inline void native_before(unsigned host_thread) { (void)host_thread; }
static inline void native_enter(unsigned host_thread) { (void)host_thread; }
static inline void native_leave(unsigned host_thread) { (void)host_thread; }
#endif

#endif
