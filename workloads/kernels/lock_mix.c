/* lock_mix: lock operations that match a row of a program's lock statistics (Kawachiya 2005, Tables
 * 5.2, 5.6 and 6.2). There are `acquisitions` in all, on `objects` objects. The shares of these
 * that are given:
 * - owner_share: outermost ones by the object's first locker before any other thread locks it,
 * which are the hits of a reservation, and the first acquisition of all;
 * - return_share: outermost ones by the first locker after another thread has locked it, which are
 *   hits, too, of a lock that is owned forever;
 * - recursive: nested ones, by whichever thread holds the lock.
 *
 * The rest are outermost ones by another thread. Each share is rounded down, and what is left over
 * is the owner's. Other threads lock only `shared_objects` of the objects, so as many reservations
 * are cancelled. Object i belongs to thread i mod `owners` (0: all threads).
 *
 * There are three stages with a barrier between them, phases 1 to 3: the owners; the other threads,
 * one for each shared object; the owners again. So no lock is contended. In a stage every object
 * gets an equal part, all of it at once, and nested acquisitions come at equal distances. Each
 * section has `critical` iterations of a delay loop inside and `think` behind it. An object is new,
 * and in its owner's cache, when its owner begins. */
#define WORKLOAD_lock_mix
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"

enum { FIRST, FOREIGN, RETURN, STAGES };

/* What happens to an object in a stage. */
typedef struct {
    uint32_t thread;
    uint32_t count;     /* outermost acquisitions */
    uint32_t remainder; /* nested ones due before the first of them, in parts of `outermost` */
} share_t;

static guarded_t objects[MAX_objects];
static share_t shares[STAGES][MAX_objects];
static uint64_t nested, outermost; /* acquisitions of all objects */

static unsigned owners(void) { return KEY(owners) ? (unsigned)KEY(owners) : runtime_threads; }

/* The thread that does object i's share of a stage. */
static uint32_t thread_of(unsigned stage, uint64_t i) {
    uint32_t owner = (uint32_t)(i % owners());
    if (stage != FOREIGN)
        return owner;
    return (owner + 1 + (uint32_t)(i / owners() % (runtime_threads - 1))) % runtime_threads;
}

/* Gives each of the first `count` objects its part of the `total` outermost acquisitions of a
 * stage; `before` come in earlier stages. */
static void share_out(unsigned stage, uint64_t total, uint64_t count, uint64_t before) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t begin = i * total / count;
        shares[stage][i] = (share_t){
            .thread = thread_of(stage, i),
            .count = (uint32_t)((i + 1) * total / count - begin),
            .remainder = (uint32_t)((before + begin) * nested % outermost),
        };
    }
}

static const char *setup(void) {
    uint64_t given, returned, foreign, owned; /* outermost acquisitions of all objects, by stage */
#include "runtime/rules.inc"
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[i % owners()]);
    share_out(FIRST, owned, KEY(objects), 0);
    share_out(FOREIGN, foreign, KEY(shared_objects), owned);
    share_out(RETURN, returned, KEY(shared_objects), owned + foreign);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Returns the acquisitions, nested ones included. */
static uint64_t do_share(guarded_t *object, lock_thread_t *self, const share_t *share) {
    uint64_t remainder = share->remainder;
    uint64_t pairs = share->count;
    lock_result_t result = SUCCESS;
    for (uint64_t i = share->count; i != 0; i--) {
        result |= lock_acquire(&object->lock, self);
        guarded_section(object, self, KEY(critical));
        for (remainder += nested; remainder >= outermost; remainder -= outermost) {
            result |= guarded_sync(object, self, 0);
            pairs++;
        }
        result |= lock_release(&object->lock, self);
        lock_safepoint(self);
        runtime_delay(KEY(think));
    }
    outcome_note(self, result);
    return pairs;
}

static uint64_t run(lock_thread_t *self) {
    uint64_t pairs = 0;
    for (unsigned stage = FIRST; stage < STAGES; stage++) {
        uint64_t count = stage == FIRST ? KEY(objects) : KEY(shared_objects);
        runtime_barrier(self);
        if (runtime_index(self) == 0)
            runtime_phase(self, stage + 1);
        for (uint64_t i = 0; i < count; i++) {
            const share_t *share = &shares[stage][i];
            if (share->thread != runtime_index(self))
                continue;
            if (stage == FIRST)
                objects[i].counter = 0;
            pairs += do_share(&objects[i], self, share);
        }
    }
    return pairs;
}

static const char *verify(uint64_t pairs) {
    uint64_t sections = 0;
    for (uint64_t i = 0; i < KEY(objects); i++) {
        const char *error = guarded_verify(&objects[i], objects[i].counter);
        if (error)
            return error;
        sections += objects[i].counter;
    }
    if (sections != pairs)
        return "a protected counter is wrong";
    return outcome_verify(pairs, KEY(acquisitions));
}
