/*
 * The fences that a Java lock's functions have around a section, whatever the lock does besides: on
 * x86-64 lfence and sfence, "in order to comply with the Java memory model" (Kawachiya 2005,
 * 5.5.1), though total store order needs neither; elsewhere C11's. The latency that a program is
 * given for fences is that of the full one alone.
 */
#ifndef LOCKCROSS_SECTION_FENCES_H
#define LOCKCROSS_SECTION_FENCES_H

#if defined(__x86_64__) && !defined(LOCKCROSS_MODEL)
#define SECTION_FENCE(order, instruction) __asm__ volatile(instruction::: "memory")
#else
#define SECTION_FENCE(order, instruction) __atomic_thread_fence(order)
#endif

/* Loads behind it stay behind those before it. */
static inline void fence_of_acquisition(void) { SECTION_FENCE(__ATOMIC_ACQUIRE, "lfence"); }

/* Stores before it stay before those behind it. */
static inline void fence_of_release(void) { SECTION_FENCE(__ATOMIC_RELEASE, "sfence"); }

#undef SECTION_FENCE

#endif
