/* run_queues: a thread scheduler's queues, one for each thread, which it locks at each step and
 * which "is occasionally peeked at by other processors" (Kawachiya 2005, 8.2: the example of Figure
 * 8.3).
 *
 * A thread makes `iterations` steps: it locks its own queue and moves the first entry to the end.
 * After each `peek_every` steps it also locks the next thread's queue and looks at its first entry;
 * with 0 it never does. `critical` turns of a delay loop are in each section and `think` between
 * two. Each queue is created by its own thread. The pairs are steps and looks. */
#define WORKLOAD_run_queues
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

enum { ENTRIES = 8 };

typedef struct {
    guarded_t guarded;
    uint32_t entries[ENTRIES];
    uint32_t first; /* index of the first entry */
} queue_t;

static queue_t queues[LOCK_MAX_THREADS];
static struct {
    lock_result_t result;
    uint64_t wrong; /* looks at an entry that is not of the queue's thread */
} __attribute__((aligned(LOCK_LINE))) own[LOCK_MAX_THREADS];

static const char *setup(void) {
    for (unsigned i = 0; i < runtime_threads; i++) {
        lock_object_init_for(&queues[i].guarded.lock, &lock_threads[i]);
        for (unsigned k = 0; k < ENTRIES; k++)
            queues[i].entries[k] = i * ENTRIES + k;
    }
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static lock_result_t step(queue_t *queue, lock_thread_t *self) {
    lock_result_t result = lock_acquire(&queue->guarded.lock, self);
    guarded_section(&queue->guarded, self, KEY(critical));
    queue->first = (queue->first + 1) % ENTRIES;
    return result | lock_release(&queue->guarded.lock, self);
}

static lock_result_t peek(unsigned index, lock_thread_t *self, uint64_t *wrong) {
    queue_t *queue = &queues[index];
    lock_result_t result = lock_acquire(&queue->guarded.lock, self);
    guarded_section(&queue->guarded, self, KEY(critical));
    *wrong += queue->entries[queue->first] / ENTRIES != index;
    return result | lock_release(&queue->guarded.lock, self);
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    unsigned next = me + 1 == runtime_threads ? 0 : me + 1;
    uint64_t until_peek = KEY(peek_every);
    uint64_t pairs = 0;
    for (uint64_t i = KEY(iterations); i != 0; i--, pairs++) {
        own[me].result |= step(&queues[me], self);
        if (until_peek != 0 && --until_peek == 0) {
            own[me].result |= peek(next, self, &own[me].wrong);
            until_peek = KEY(peek_every);
            pairs++;
        }
        lock_safepoint(self);
        runtime_delay(KEY(think));
    }
    return pairs;
}

static const char *verify(uint64_t pairs) {
    uint64_t each = KEY(iterations) + (KEY(peek_every) ? KEY(iterations) / KEY(peek_every) : 0);
    if (pairs != each * runtime_threads)
        return "the number of pairs is wrong";
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (own[i].result != SUCCESS)
            return "an acquire or a release did not succeed";
        if (own[i].wrong != 0)
            return "a queue holds an entry of another";
        if (queues[i].first != KEY(iterations) % ENTRIES)
            return "a queue has not moved by one entry a step";
        const char *error = guarded_verify(&queues[i].guarded, each);
        if (error)
            return error;
    }
    return 0;
}
