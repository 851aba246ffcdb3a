/* timed_park: thread 0 parks for `nap` microseconds, and thread 1 unparks it `delay` microseconds
 * after both have begun. Whether it was woken must be what is expected, and the time that passed
 * fits. A permit that came too late is there for the next park. */
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "monitor/park.h"
#include "monitor/timed_park.h"
#include "monitor/processor.h"
#include "runtime/runtime.h"

enum { NAP, DELAY };

#define MICROSECOND UINT64_C(1000)

static const char *volatile failure;
static volatile uint32_t never_changes;

static runtime_key_t keys[] = {[NAP] = {.name = "nap", .low = 1, .high = 1000000},
                               [DELAY] = {.name = "delay", .low = 0, .high = 1000000},
                               RUNTIME_KEYS_END};

static const char *setup(void) { return 0; }

static void prepare(lock_thread_t *self) { (void)self; }

static void sleeper(lock_thread_t *self) {
    uint64_t nap = keys[NAP].value * MICROSECOND, delay = keys[DELAY].value * MICROSECOND;
    uint64_t begun = lock_clock(self);
    bool woken = park_for(self, nap, &never_changes, 0);
    uint64_t passed = lock_clock(self) - begun;
    if (woken != (delay < nap))
        failure = woken ? "the sleeper was woken after its time" : "its time was over too early";
    if (!woken && passed < nap)
        failure = "the time was over before it had passed";
    if (!woken && !park_for(self, 1000 * 1000 * MICROSECOND, &never_changes, 0))
        failure = "the permit that came late is lost";
}

static void waker(lock_thread_t *self) {
    uint64_t end = lock_clock(self) + keys[DELAY].value * MICROSECOND;
    while (lock_clock(self) < end)
        spin_wait(self);
    unpark(&lock_threads[0]);
}

static uint64_t run(lock_thread_t *self) {
    runtime_barrier(self);
    if (runtime_index(self) == 0)
        sleeper(self);
    else
        waker(self);
    return 1;
}

static const char *verify(uint64_t pairs) { return (void)pairs, failure; }

const workload_t workload = {"timed_park", keys, 2, 2, setup, prepare, run, verify};
