/*
 * counter: all threads increment one counter under a lock for `duration` cycles (Odaira and Hiraki:
 * the micro benchmark synchmeth, and its modification for fairness), with `critical` iterations of
 * a delay loop inside the section and `think` outside.
 *
 * Its pairs give the throughput. Over all acquisitions it reports, in simulated cycles, the time
 * from wanting the lock to having it: `wait_mean`, `wait_deviation` (the standard deviation),
 * `wait_variation` (that over the mean, in thousandths) and `wait_max`. `gap_deviation` is the
 * measure of the slides: the standard deviation of the difference between the values that a thread
 * finds in consecutive sections; one switch per time slice of x sections gives sqrt(x) * (n - 1).
 * It knows nothing of a thread that is never served, and the slides speak of "waiting time":
 * `open_deviation` is the same with each thread's wait for its first section and with the
 * difference that is still open when the run ends. `least` and `most` are the sections of the
 * threads that ran the fewest and the most. Every lock alike reads the clock twice per section.
 */
#define WORKLOAD_counter
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"
#include "runtime/scheduler.h"

typedef unsigned __int128 wide_t;

/* Sums over values that are seen one by one. */
typedef struct {
    uint64_t count, sum, max;
    wide_t squares;
} spread_t;

static guarded_t object;
static volatile uint64_t end; /* cycle; set by the first thread that runs, for all */
static struct {
    spread_t waits, gaps;
    uint64_t last; /* the counter's value in this thread's last section */
    lock_result_t result;
} __attribute__((aligned(LOCK_LINE))) own[LOCK_MAX_THREADS];

static const char *setup(void) {
    lock_object_init(&object.lock);
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static void see(spread_t *spread, uint64_t value) {
    spread->count++;
    spread->sum += value;
    spread->squares += (wide_t)value * value;
    if (value > spread->max)
        spread->max = value;
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    uint64_t last = 0; /* the counter's value in this thread's last section */
    uint64_t now = scheduler_clock(self);
    if (load_rlx_u64(&end) == 0)
        store_rlx_u64(&end, now + KEY(duration));
    for (; now < load_rlx_u64(&end); now = scheduler_clock(self)) {
        own[me].result |= lock_acquire(&object.lock, self);
        see(&own[me].waits, scheduler_clock(self) - now);
        guarded_section(&object, self, KEY(critical));
        uint64_t value = object.counter;
        own[me].result |= lock_release(&object.lock, self);
        if (last)
            see(&own[me].gaps, value - last);
        last = value;
        lock_safepoint(self);
        runtime_delay(KEY(think));
    }
    own[me].last = last;
    return own[me].waits.count;
}

static uint64_t divide(wide_t dividend, uint64_t divisor) {
    wide_t rest = 0;
    uint64_t quotient = 0;
    for (int bit = 127; bit >= 0; bit--) {
        rest = rest << 1 | (dividend >> bit & 1);
        quotient <<= 1;
        if (rest >= divisor)
            rest -= divisor, quotient |= 1;
    }
    return quotient;
}

static uint64_t root(uint64_t square) {
    uint64_t found = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1) {
        if ((found | bit) * (found | bit) <= square)
            found |= bit;
    }
    return found;
}

static uint64_t deviation(const spread_t *spread) {
    if (spread->count == 0)
        return 0;
    wide_t of_mean = divide((wide_t)spread->sum * spread->sum, spread->count);
    return root(divide(spread->squares - of_mean, spread->count));
}

static void merge(spread_t *into, const spread_t *from) {
    into->count += from->count;
    into->sum += from->sum;
    into->squares += from->squares;
    if (from->max > into->max)
        into->max = from->max;
}

/* Adds what a thread waited for its first section, and what it has waited since its last one. The
 * gaps between these two add up to the distance of their values. */
static void see_ends(spread_t *spread, uint64_t last, uint64_t between) {
    if (last)
        see(spread, last - between);
    if (object.counter != last)
        see(spread, object.counter - last);
}

static void report(void) {
    spread_t waits = {0}, gaps = {0}, open = {0};
    for (unsigned i = 0; i < runtime_threads; i++) {
        uint64_t sections = own[i].waits.count;
        merge(&waits, &own[i].waits);
        merge(&gaps, &own[i].gaps);
        see_ends(&open, own[i].last, own[i].gaps.sum);
        if (sections < METRIC_VALUE(least))
            METRIC_VALUE(least) = sections;
        if (sections > METRIC_VALUE(most))
            METRIC_VALUE(most) = sections;
    }
    uint64_t mean = waits.sum / waits.count;
    METRIC_VALUE(wait_mean) = mean;
    METRIC_VALUE(wait_deviation) = deviation(&waits);
    METRIC_VALUE(wait_variation) = mean ? METRIC_VALUE(wait_deviation) * 1000 / mean : 0;
    METRIC_VALUE(wait_max) = waits.max;
    METRIC_VALUE(gap_deviation) = deviation(&gaps);
    merge(&open, &gaps);
    METRIC_VALUE(open_deviation) = deviation(&open);
}

static const char *verify(uint64_t pairs) {
    if (pairs == 0)
        return "no section was run";
    report();
    for (unsigned i = 0; i < runtime_threads; i++) {
        if (own[i].result != SUCCESS)
            return "an acquire or a release did not succeed";
    }
    return guarded_verify(&object, pairs);
}
