/*
 * counter: all threads increment one counter under a lock, for `duration` cycles (Odaira and
 * Hiraki: the micro benchmark synchmeth, and its modification for fairness), with `critical` turns
 * of delay inside the section and `think` outside.
 *
 * Reports throughput by its pairs and, of all acquisitions, in simulated cycles the time from
 * wanting the lock to having it: `wait_mean`, `wait_deviation` (standard deviation),
 * `wait_variation` (that over the mean, in thousandths) and `wait_max`. `gap_deviation` is the
 * slides' measure: standard deviation of the difference between the values that a thread finds in
 * consecutive sections; one switch a time slice of x sections gives sqrt(x) * (n - 1). `least` and
 * `most` are the sections of the thread with the fewest and of that with the most. Time is read
 * twice for each section, by every lock alike.
 */
#include "runtime/clock.h"
#include "runtime/guarded.h"

enum { DURATION, CRITICAL, THINK };

typedef unsigned __int128 wide_t;

/* Of values seen one by one. */
typedef struct {
    uint64_t count, sum, max;
    wide_t squares;
} spread_t;

static guarded_t object;
static volatile uint64_t end; /* by the clock; the first thread that runs sets it for all */
static struct {
    spread_t waits, gaps;
    lock_result_t result;
} __attribute__((aligned(LOCK_LINE))) own[LOCK_MAX_THREADS];

static runtime_key_t keys[] = {
    [DURATION] = {.name = "duration", .low = 1, .high = UINT32_MAX},
    [CRITICAL] = {.name = "critical", .high = UINT32_MAX, .optional = true},
    [THINK] = {.name = "think", .high = UINT32_MAX, .optional = true},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    lock_object_init(&object.lock);
    return CLOCK_MISSING("counter");
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
    uint64_t last = 0; /* value of the counter in this thread's last section */
    uint64_t now = clock_of(self);
    if (load_rlx_u64(&end) == 0)
        store_rlx_u64(&end, now + keys[DURATION].value);
    for (; now < load_rlx_u64(&end); now = clock_of(self)) {
        own[me].result |= lock_acquire(&object.lock, self);
        see(&own[me].waits, clock_of(self) - now);
        guarded_section(&object, self, keys[CRITICAL].value);
        uint64_t value = object.counter;
        own[me].result |= lock_release(&object.lock, self);
        if (last)
            see(&own[me].gaps, value - last);
        last = value;
        lock_safepoint(self);
        runtime_delay(keys[THINK].value);
    }
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

enum { MEAN, DEVIATION, VARIATION, MAX, GAP, LEAST, MOST };
runtime_extra_t runtime_extras[] = {
    [MEAN] = {"wait_mean", 0},
    [DEVIATION] = {"wait_deviation", 0},
    [VARIATION] = {"wait_variation", 0},
    [MAX] = {"wait_max", 0},
    [GAP] = {"gap_deviation", 0},
    [LEAST] = {"least", UINT64_MAX},
    [MOST] = {"most", 0},
    {0},
};

static void report(void) {
    spread_t waits = {0}, gaps = {0};
    for (unsigned i = 0; i < runtime_threads; i++) {
        uint64_t sections = own[i].waits.count;
        merge(&waits, &own[i].waits);
        merge(&gaps, &own[i].gaps);
        if (sections < runtime_extras[LEAST].value)
            runtime_extras[LEAST].value = sections;
        if (sections > runtime_extras[MOST].value)
            runtime_extras[MOST].value = sections;
    }
    uint64_t mean = waits.sum / waits.count;
    runtime_extras[MEAN].value = mean;
    runtime_extras[DEVIATION].value = deviation(&waits);
    runtime_extras[VARIATION].value = mean ? runtime_extras[DEVIATION].value * 1000 / mean : 0;
    runtime_extras[MAX].value = waits.max;
    runtime_extras[GAP].value = deviation(&gaps);
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

const workload_t workload = {"counter", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
