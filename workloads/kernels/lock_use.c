/* lock_use: a program's use of locks, stated by its numbers. Object i belongs to thread i mod
 * threads, its owner, who makes its `first` acquisitions. Then follow `turns` turns: in each
 * another thread makes `run_length` acquisitions in a row, and the owner its part of `after`, which
 * are shared out evenly over the turns. Without turns the objects are local to their owners. The
 * share `recursive` of all acquisitions are nested ones, at equal distances; all else counts
 * outermost ones.
 *
 * There is a barrier between the steps, so no lock is contended. The other thread of turn k is the
 * same number of threads behind every owner, one further each turn: so all threads have the same
 * work in each step, if `objects` is a multiple of the threads. Each section has work of a kind,
 * the amount `critical` in the mean inside and `think` behind it (kernels/work.inc). An object is
 * new, and in its owner's cache, when its owner begins. */
#define WORKLOAD_lock_use
#include <stdint.h>

#include "kernels/work.inc"
#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"

static guarded_t objects[MAX_objects];
static uint32_t inside[WORK_DRAWN], behind[WORK_DRAWN];

static const char *setup(void) {
#include "runtime/rules.inc"
    for (uint64_t i = 0; i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[i % runtime_threads]);
    work_draw(inside, KEY(critical));
    work_draw(behind, KEY(think));
    work_setup(KEY(kind));
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

/* Acquisitions of one object by the calling thread, `before` having been made; nested ones belong
 * to each outermost one in the ratio of `recursive` to the rest. Returns all of them. */
static uint64_t acquire(guarded_t *object, lock_thread_t *self, uint64_t before, uint64_t count) {
    uint64_t nested = KEY(recursive);
    uint64_t outermost = PARTS - nested;
    uint64_t critical = KEY(critical);
    uint64_t think = KEY(think);
    uint64_t kind = KEY(kind);
    work_t *work = &work_of[runtime_index(self)];
    uint64_t due = before * nested % outermost; /* in parts of `outermost` */
    uint64_t pairs = count;
    lock_result_t result = SUCCESS;
    for (; count != 0; count--) {
        result |= lock_acquire(&object->lock, self);
        guarded_section(object, self, 0);
        if (critical != 0)
            work_do(kind, work, work_next(inside, work));
        for (due += nested; due >= outermost; due -= outermost) {
            result |= guarded_sync(object, self, 0);
            pairs++;
        }
        result |= lock_release(&object->lock, self);
        lock_safepoint(self);
        if (think != 0)
            work_do(kind, work, work_next(behind, work));
        work->sections++;
    }
    outcome_note(self, result);
    return pairs;
}

/* A step: every object `distance` threads from the calling one. */
static uint64_t step(lock_thread_t *self, unsigned distance, uint64_t before, uint64_t count) {
    unsigned owner = (runtime_index(self) + runtime_threads - distance) % runtime_threads;
    uint64_t pairs = 0;
    for (uint64_t i = owner; i < KEY(objects); i += runtime_threads) {
        if (before == 0)
            objects[i].counter = 0;
        pairs += acquire(&objects[i], self, before, count);
    }
    return pairs;
}

static uint64_t run(lock_thread_t *self) {
    uint64_t turns = KEY(turns);
    uint64_t run_length = KEY(run_length);
    uint64_t before = KEY(first);
    uint64_t pairs = step(self, 0, 0, before);
    for (uint64_t k = 0; k < turns; k++) {
        uint64_t back = (k + 1) * KEY(after) / turns - k * KEY(after) / turns;
        unsigned distance = 1 + (unsigned)(k % (runtime_threads - 1));
        runtime_barrier(self);
        pairs += step(self, distance, before, run_length);
        before += run_length;
        runtime_barrier(self);
        pairs += step(self, 0, before, back);
        before += back;
    }
    return pairs;
}

static const char *verify(uint64_t pairs) {
    uint64_t each = KEY(first) + KEY(turns) * KEY(run_length) + KEY(after);
    each += each * KEY(recursive) / (PARTS - KEY(recursive));
    for (uint64_t i = 0; i < KEY(objects); i++) {
        const char *error = guarded_verify(&objects[i], each);
        if (error)
            return error;
    }
    return outcome_verify(pairs, KEY(objects) * each);
}
