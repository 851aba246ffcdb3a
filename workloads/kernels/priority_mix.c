/*
 * priority_mix: threads of high and of low priority contend for one lock (Welc et al. 2004,
 * section 4.1; Figures 5 to 8).
 *
 * The first `high` threads are of high priority, the others of low. Each executes `sections`
 * sections, and before each pauses for a random time, `pause` turns on average. A section is a loop
 * of high_iterations or low_iterations reads and writes of shared data, interleaved so that
 * `writes` in a million are writes, with a yield point in each turn. All threads run the same code,
 * with write barriers where the lock has them. A write adds one, so the sum of the shared words
 * shows each write that was lost or not undone.
 *
 * Reports the elapsed time of the high-priority threads, from the first that starts to the last
 * that ends, that of all threads, and how many sections were rolled back. That takes the clock of
 * the M:N runtime, so it runs with `cores` only.
 *
 * Where the source is silent: the shared data are 256 words, and a pause is a busy one.
 */
#include "runtime/clock.h"
#include "runtime/outcome.h"

enum { HIGH, SECTIONS, HIGH_ITERATIONS, LOW_ITERATIONS, WRITES, PAUSE };
enum { WORDS = 256, PARTS = 1000000 };
enum { LOW_PRIORITY = PROCESSOR_PRIORITY_USUAL, HIGH_PRIORITY };

static struct {
    lock_object_t lock;
    volatile uint64_t holder, intrusions;
    volatile uint64_t words[WORDS];
} __attribute__((aligned(LOCK_LINE))) shared;

/* Of each thread. */
static struct {
    uint64_t random, start, end, roll_backs, sum;
    lock_result_t result;
} __attribute__((aligned(LOCK_LINE))) own[LOCK_MAX_THREADS];

static runtime_key_t keys[] = {
    [HIGH] = {.name = "high", .low = 1, .high = LOCK_MAX_THREADS - 1},
    [SECTIONS] = {.name = "sections", .low = 1, .high = UINT32_MAX},
    [HIGH_ITERATIONS] = {.name = "high_iterations", .low = 1, .high = UINT32_MAX},
    [LOW_ITERATIONS] = {.name = "low_iterations", .low = 1, .high = UINT32_MAX},
    [WRITES] = {.name = "writes", .high = PARTS},
    [PAUSE] = {.name = "pause", .high = UINT32_MAX, .optional = true},
    RUNTIME_KEYS_END,
};

static bool is_high(const lock_thread_t *self) { return runtime_index(self) < keys[HIGH].value; }

static uint64_t iterations_of(const lock_thread_t *self) {
    return keys[is_high(self) ? HIGH_ITERATIONS : LOW_ITERATIONS].value;
}

static const char *setup(void) {
    if (keys[HIGH].value >= runtime_threads)
        return "high must leave a thread of low priority";
    lock_object_init(&shared.lock);
    return CLOCK_MISSING("priority_mix");
}

static void prepare(lock_thread_t *self) {
    lock_set_priority(self, is_high(self) ? HIGH_PRIORITY : LOW_PRIORITY);
    own[runtime_index(self)].random =
        (runtime_seed * LOCK_MAX_THREADS + self->tid) * 0x9e3779b97f4a7c15u;
}

static void pause(lock_thread_t *self) {
    uint64_t *random = &own[runtime_index(self)].random;
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    runtime_delay((*random >> 32) * (2 * keys[PAUSE].value + 1) >> 32);
}

/* The loop of a section; whether it was rolled back. */
static bool reads_and_writes(lock_thread_t *self, uint64_t iterations) {
    uint64_t writes = keys[WRITES].value;
    uint64_t due = 0, sum = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        volatile uint64_t *word = &shared.words[i % WORDS];
        due += writes;
        if (due >= PARTS) {
            due -= PARTS;
            lock_section_write(self, word, *word + 1);
        } else {
            sum += *word;
        }
        if (lock_section_poll(self))
            return true;
    }
    own[runtime_index(self)].sum += sum;
    return false;
}

static void one_section(lock_thread_t *self, uint64_t iterations) {
    lock_result_t *result = &own[runtime_index(self)].result;
    lock_section_t section = {0};
    for (;;) {
        *result |= lock_section_begin(&section, &shared.lock, self);
        lock_section_write(self, &shared.holder, self->tid);
        if (!reads_and_writes(self, iterations))
            break;
        own[runtime_index(self)].roll_backs++;
    }
    if (shared.holder != self->tid)
        lock_section_write(self, &shared.intrusions, shared.intrusions + 1);
    *result |= lock_section_end(&section, self);
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    uint64_t iterations = iterations_of(self);
    own[me].start = clock_of(self);
    for (uint64_t i = 0; i < keys[SECTIONS].value; i++) {
        pause(self);
        one_section(self, iterations);
    }
    own[me].end = clock_of(self);
    outcome_note(self, own[me].result);
    return keys[SECTIONS].value;
}

/* From the earliest start to the latest end of threads 0 to count - 1. */
static uint64_t elapsed(uint64_t count) {
    uint64_t start = own[0].start, end = own[0].end;
    for (uint64_t i = 1; i < count; i++) {
        start = own[i].start < start ? own[i].start : start;
        end = own[i].end > end ? own[i].end : end;
    }
    return end - start;
}

enum { HIGH_ELAPSED, ELAPSED, ROLL_BACKS };
runtime_extra_t runtime_extras[] = {
    [HIGH_ELAPSED] = {"high_elapsed", 0},
    [ELAPSED] = {"elapsed", 0},
    [ROLL_BACKS] = {"roll_backs", 0},
    {0},
};

static void report(void) {
    runtime_extras[HIGH_ELAPSED].value = elapsed(keys[HIGH].value);
    runtime_extras[ELAPSED].value = elapsed(runtime_threads);
    for (unsigned i = 0; i < runtime_threads; i++)
        runtime_extras[ROLL_BACKS].value += own[i].roll_backs;
}

static const char *verify(uint64_t pairs) {
    uint64_t sections = keys[SECTIONS].value;
    uint64_t expected = 0, sum = 0;
    for (unsigned i = 0; i < runtime_threads; i++)
        expected += sections * (iterations_of(&lock_threads[i]) * keys[WRITES].value / PARTS);
    for (unsigned i = 0; i < WORDS; i++)
        sum += shared.words[i];
    report();
    if (shared.intrusions != 0)
        return "two threads were in one critical section";
    if (sum != expected)
        return "a write was lost, or not undone";
    if (!lock_is_idle(&shared.lock))
        return "the lock is not idle at the end";
    return outcome_verify(pairs, sections * runtime_threads);
}

const workload_t workload = {"priority_mix", keys,    2,   LOCK_MAX_THREADS,
                             setup,          prepare, run, verify};
