/* fat_sections: in which mode a lock is, in sections with and without contention (Kawachiya 2005,
 * 4.4.1, Tables 4.3 and 4.6; with `flat` = 0 and `fat` = 2, Thrashing of 4.6.1). Two threads lock
 * one object, in `sections` fat sections with a flat one before each and behind the last. In a flat
 * section thread 0 acquires it `flat` times and nobody contends. In a fat one both acquire it in
 * turn, `fat` times in all, each while the other holds it, but for the first.
 *
 * It reports how many acquisitions found the lock `inflated` once they had it, and its `inflations`
 * and `deflations`, as seen by its holders and at the end.
 *
 * No lock tells whether a thread waits for it, so a holder keeps it until the other has tried to
 * acquire it and `hold` iterations of a loop have passed. It does not wait for ever, since the
 * other may still be in its release, and need the lock there: tasuki's release that finds a
 * contender enters the monitor to wake it (parts/tasuki_core.h). The contender may have inflated
 * the lock by then, and hold it. */
#define WORKLOAD_fat_sections
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

#include "kernels/one_object.h"

#ifndef LOCK_IS_FAT
#define LOCK_IS_FAT(obj) false
#endif

/* Acquisitions in fat sections: that have succeeded, and that have begun. */
static turn_t acquired, attempts;
enum { PATIENCE = 20000 }; /* turns of a loop that a holder waits for an attempt */
static bool was_fat;       /* under the lock */

static void look(void) {
    bool is_fat = LOCK_IS_FAT(&object.lock);
    METRIC_VALUE(inflations) += is_fat && !was_fat;
    METRIC_VALUE(deflations) += !is_fat && was_fat;
    was_fat = is_fat;
}

/* The section that every acquisition guards. */
static void inside(lock_thread_t *self) {
    look();
    METRIC_VALUE(inflated) += was_fat;
    guarded_section(&object, self, 0);
}

static lock_result_t flat_section(lock_thread_t *self) {
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < KEY(flat); i++) {
        result |= lock_acquire(&object.lock, self);
        inside(self);
        result |= lock_release(&object.lock, self);
        lock_safepoint(self);
    }
    return result;
}

/* This thread's part of a fat section, whose acquisitions have the numbers from `first`. */
static lock_result_t fat_section(lock_thread_t *self, uint32_t first) {
    lock_result_t result = SUCCESS;
    uint32_t last = first + (uint32_t)KEY(fat) - 1;
    for (uint32_t i = first + runtime_index(self); i <= last; i += 2) {
        turn_await(&acquired, self, i);
        turn_pass(&attempts, i + 1);
        result |= lock_acquire(&object.lock, self);
        inside(self);
        turn_pass(&acquired, i + 1);
        if (i < last) {
            turn_await_briefly(&attempts, self, i + 2, PATIENCE);
            for (uint64_t k = KEY(hold); k != 0; k--)
                lock_safepoint(self);
        }
        result |= lock_release(&object.lock, self);
    }
    return result;
}

static uint64_t acquisitions(void) { return KEY(sections) * (KEY(flat) + KEY(fat)) + KEY(flat); }

static uint64_t run(lock_thread_t *self) {
    bool first = runtime_index(self) == 0;
    lock_result_t result = guarded_sync(&own[runtime_index(self)], self, 0); /* warms up */
    for (uint32_t section = 0; section < KEY(sections); section++) {
        if (first)
            result |= flat_section(self);
        runtime_barrier(self);
        result |= fat_section(self, section * (uint32_t)KEY(fat));
        runtime_barrier(self);
    }
    if (first) {
        result |= flat_section(self);
        look();
    }
    outcome_note(self, result);
    return first ? acquisitions() : 0;
}

static const char *verify(uint64_t pairs) {
    const char *error = outcome_verify(pairs, acquisitions());
    return error ? error : guarded_verify(&object, acquisitions());
}
