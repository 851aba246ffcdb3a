/* rounds_packed: as rounds, with objects that lie side by side, as small Java objects do (Kawachiya
 * 2005, 6.6.1, Figures 6.14 and 6.15). With most locks one takes 16 bytes: a header of three words
 * and what the section counts in. A lock that needs more of the header makes it longer. */
#define WORKLOAD_rounds_packed
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"

typedef struct {
    lock_object_t lock;
    uint32_t third_word; /* of the header; no lock's */
    volatile uint32_t counter;
} packed_t;

static packed_t objects[MAX_objects];

static inline lock_result_t object_sync(packed_t *object, lock_thread_t *self) {
    lock_result_t acquired = lock_acquire(&object->lock, self);
    object->counter++;
    return acquired | lock_release(&object->lock, self);
}

#include "kernels/rounds.inc"

static const char *verify(uint64_t pairs) {
    const char *error = rounds_verify(pairs);
    for (uint64_t i = 0; !error && i < KEY(objects); i++) {
        if (objects[i].counter != (uint32_t)KEY(rounds))
            error = "the protected counter is wrong";
        else if (!lock_is_idle(&objects[i].lock))
            error = "the lock is not idle at the end";
    }
    return error;
}
