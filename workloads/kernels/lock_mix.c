/* lock_mix: lock operations drawn to match a row of a program's lock statistics (Kawachiya 2005,
 * Tables 5.2, 5.6 and 6.2). `acquisitions` in all are done on `objects` objects, of them, in parts
 * per million:
 *   owner_share    outermost, by the object's first locker, before any other thread's: the hits of
 *                  a reservation; the first acquisition of all is one of them
 *   return_share   outermost, by the first locker, after another thread's: hits of a lock that is
 *                  owned for ever, too
 *   recursive      nested, by whichever thread holds the lock
 * and the rest outermost by another thread, on the `shared_objects` objects that see another thread
 * at all: their reservations are cancelled, once each. Objects belong to the first `owners` threads
 * (0: all) in turn.
 *
 * Three stages with a barrier between, phases 1 to 3: the owners; then the other threads, one for
 * each shared object; then the owners again. So no lock is contended. Within a stage each object
 * has its equal part, all of it at once, and nested acquisitions come at equal distances. An object
 * is new, and in its owner's cache, when the owner begins. */
#include "runtime/outcome.h"

enum {
    OBJECTS,
    ACQUISITIONS,
    OWNER_SHARE,
    RETURN_SHARE,
    RECURSIVE,
    SHARED_OBJECTS,
    OWNERS,
    CRITICAL,
    THINK
};
enum { FIRST, FOREIGN, RETURN, STAGES };
enum { OBJECTS_MAX = 16384, PARTS = 1000000 };

/* What is done to an object in a stage. */
typedef struct {
    uint32_t thread;
    uint32_t count;     /* outermost acquisitions */
    uint32_t remainder; /* of nested ones due, in parts of `outermost`, before the first */
} share_t;

static guarded_t objects[OBJECTS_MAX];
static share_t shares[STAGES][OBJECTS_MAX];
static uint64_t nested, outermost; /* acquisitions of all objects */

static runtime_key_t keys[] = {
    [OBJECTS] = {.name = "objects", .low = 1, .high = OBJECTS_MAX},
    [ACQUISITIONS] = {.name = "acquisitions", .low = 1, .high = UINT32_MAX},
    [OWNER_SHARE] = {.name = "owner_share", .high = PARTS},
    [RETURN_SHARE] = {.name = "return_share", .high = PARTS, .optional = true},
    [RECURSIVE] = {.name = "recursive", .high = PARTS, .optional = true},
    [SHARED_OBJECTS] = {.name = "shared_objects", .high = OBJECTS_MAX},
    [OWNERS] = {.name = "owners", .high = LOCK_MAX_THREADS, .optional = true},
    [CRITICAL] = {.name = "critical", .high = UINT32_MAX, .optional = true},
    [THINK] = {.name = "think", .high = UINT32_MAX, .optional = true},
    RUNTIME_KEYS_END,
};

static uint64_t parts_of(uint64_t parts) { return keys[ACQUISITIONS].value * parts / PARTS; }

static unsigned owners(void) {
    return keys[OWNERS].value ? (unsigned)keys[OWNERS].value : runtime_threads;
}

/* The thread that does object i's share of a stage. */
static uint32_t thread_of(unsigned stage, uint64_t i) {
    uint32_t owner = (uint32_t)(i % owners());
    if (stage != FOREIGN)
        return owner;
    return (owner + 1 + (uint32_t)(i / owners() % (runtime_threads - 1))) % runtime_threads;
}

/* Gives each of the first `count` objects its part of `total` outermost acquisitions, of which
 * `before` come before this stage. */
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
    uint64_t shared = keys[SHARED_OBJECTS].value;
    uint64_t given = keys[OWNER_SHARE].value + keys[RETURN_SHARE].value + keys[RECURSIVE].value;
    if (given > PARTS)
        return "owner_share, return_share and recursive are more than 1000000";
    nested = parts_of(keys[RECURSIVE].value);
    outermost = keys[ACQUISITIONS].value - nested;
    uint64_t returned = parts_of(keys[RETURN_SHARE].value);
    uint64_t foreign = parts_of(PARTS - given);
    uint64_t owned = outermost - returned - foreign;
    if (shared > keys[OBJECTS].value)
        return "shared_objects: more than objects";
    if (owners() > runtime_threads || (shared && runtime_threads < 2))
        return "more threads are needed";
    if (owned < keys[OBJECTS].value)
        return "owner_share: less than one acquisition for each object";
    if (foreign < shared || (returned + foreign && !shared))
        return "shared_objects: does not go with the share of other threads";
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[i % owners()]);
    share_out(FIRST, owned, keys[OBJECTS].value, 0);
    share_out(FOREIGN, foreign, shared, owned);
    share_out(RETURN, returned, shared, owned + foreign);
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
        guarded_section(object, self, keys[CRITICAL].value);
        for (remainder += nested; remainder >= outermost; remainder -= outermost) {
            result |= guarded_sync(object, self, 0);
            pairs++;
        }
        result |= lock_release(&object->lock, self);
        lock_safepoint(self);
        runtime_delay(keys[THINK].value);
    }
    outcome_note(self, result);
    return pairs;
}

static uint64_t run(lock_thread_t *self) {
    uint64_t pairs = 0;
    for (unsigned stage = FIRST; stage < STAGES; stage++) {
        uint64_t count = stage == FIRST ? keys[OBJECTS].value : keys[SHARED_OBJECTS].value;
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
    for (uint64_t i = 0; i < keys[OBJECTS].value; i++) {
        const char *error = guarded_verify(&objects[i], objects[i].counter);
        if (error)
            return error;
        sections += objects[i].counter;
    }
    if (sections != pairs)
        return "a protected counter is wrong";
    return outcome_verify(pairs, keys[ACQUISITIONS].value);
}

const workload_t workload = {"lock_mix", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
