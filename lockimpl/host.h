/*
 * What a program defines for the locks that it is compiled with. Nothing else of it is known to
 * them. Most of it is needed under the condition that stands here alone.
 */
#ifndef LOCKCROSS_HOST_H
#define LOCKCROSS_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct lock_object; /* types.h */
struct lock_thread;

/* Ends the program with a message, when a static pool is exhausted. */
_Noreturn void lock_fatal(const char *message);

/* Interrupts `thread` once, soon. For variants that stop an owner by a signal
 * (parts/reservation_cancel.h). */
void lock_signal(const struct lock_thread *thread);

#ifdef LOCKCROSS_SCHEDULER /* threads share processors (monitor/processor.h) */

/* Switches `self`, which is SAFE, out until it has a permit, and takes the permit. */
void processor_park(struct lock_thread *self);
/* The same for a limited time. Whether there was a permit. */
bool processor_park_for(struct lock_thread *self, uint64_t nanoseconds);
/* Gives `thread` a permit. If its priority is above the caller's, the caller's slice ends. */
void processor_unpark(struct lock_thread *thread);
/* Lets every other thread that can run have its turn, whatever its priority. */
void processor_yield(struct lock_thread *self);
/* What a yield point does when the slice word is zero. */
void processor_end_slice(struct lock_thread *self);
/* How many processors the threads share. */
unsigned processor_count(void);
/* Sets the priority of a thread, 0 to 7. */
void processor_set_priority(struct lock_thread *thread, uint32_t priority);

#endif

#ifdef LOCKCROSS_NATIVE /* the host's kernel lets threads sleep (monitor/park.h) */

/* Sleeps in the kernel while *word is `value`; may return early. */
void lock_sleep(volatile uint32_t *word, uint32_t value);
/* Wakes the thread that sleeps at `word`. */
void lock_wake(volatile uint32_t *word);
/* Asks the kernel whether another thread is to run. */
void lock_yield(void);

#endif

#ifndef LOCKCROSS_MODEL

/* The kernel's process-wide barrier; in simulated time it does nothing. For fence kind membarrier
 * (arch/process_barrier.h). */
void lock_process_barrier(void);

/* For locks that read the time (monitor/timed_park.h). */

/* The time now, in nanoseconds, in the region of interest. */
uint64_t lock_clock(struct lock_thread *self);
/* Waits until `self` has a permit, which it does not take, or the time is over. */
void lock_await_permit(struct lock_thread *self, uint64_t nanoseconds);

#endif

#ifdef LOCKCROSS_EVENTS /* lock operations are noted (events.h) */

/* `index` is the thread's, from 0; `event` is the kind of the event and the state of the lock. */
void lock_note_event(unsigned index, unsigned event, const struct lock_object *obj);

#endif

#endif
