/* multi_sync: each iteration acquires and releases the locks of `objects` objects, one after the
 * other (Bacon et al. 1998, Table 2: MultiSync n): a working set of locks. One thread.
 *
 * An object is the source's: a header of three words (section 2.3) and the integer that the section
 * increments, 16 bytes. They lie side by side, since the caches have to hold a working set of them;
 * a lock that needs more of the header than two words makes them longer. */
#define WORKLOAD_multi_sync
#define LOCK_OBJECT_SPACING 16
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/outcome.h"

typedef struct {
    lock_object_t lock;
    uint32_t third_word; /* of the header; no lock's */
    volatile uint32_t counter;
} counted_t;

static counted_t objects[MAX_objects];

static const char *setup(void) {
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[0]);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static uint64_t run(lock_thread_t *self) {
    uint64_t count = KEY(objects);
    uint64_t iterations = KEY(iterations);
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < iterations; i++) {
        for (uint64_t k = 0; k < count; k++) {
            result |= lock_acquire(&objects[k].lock, self);
            objects[k].counter++;
            result |= lock_release(&objects[k].lock, self);
            lock_safepoint(self);
        }
    }
    outcome_note(self, result);
    return iterations * count;
}

static const char *verify(uint64_t pairs) {
    const char *error = outcome_verify(pairs, KEY(objects) * KEY(iterations));
    for (uint64_t i = 0; !error && i < KEY(objects); i++) {
        if (objects[i].counter != (uint32_t)KEY(iterations))
            error = "a counter is wrong";
        else if (!lock_is_idle(&objects[i].lock))
            error = "a lock is not idle at the end";
    }
    return error;
}
