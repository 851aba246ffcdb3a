/*
 * priority_mix: threads of high and of low priority contend for one lock (Welc et al. 2004,
 * section 4.1; Figures 5 to 8).
 *
 * The first `high` threads have high priority, the others low. Each executes `sections` sections,
 * and before each one pauses for a random time: it executes `pause` iterations of a delay loop on
 * average, or sleeps for `sleep` cycles on average and leaves its processor to others. A section is
 * a loop of `high_iterations` or `low_iterations` reads and writes of shared data, interleaved so
 * that a share `writes` of them are writes, with a yield point in each iteration. All threads run
 * the same code, with write barriers where the lock has them. A write adds one, so the sum of the
 * shared words shows every write that was lost or not undone.
 *
 * Reports `high_elapsed`, the time of the high-priority threads from the first that starts to the
 * last that ends, `elapsed`, that of all threads, and `roll_backs`, the sections rolled back.
 *
 * With timer=slice a thread that is taken up has a whole time slice. With timer=tick slices end at
 * the ticks of a timer that never stops: Jikes RVM, the source's platform, "sets the thread-switch
 * bit approximately every 10ms" (jikesrvm.org, Threading and Yieldpoints), whichever thread runs.
 *
 * Where the source is silent: the shared data are 256 words. It speaks of "a short random pause
 * time", which is that of a thread that sleeps; the busy loop is there to compare.
 */
#define WORKLOAD_priority_mix
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "monitor/processor.h"
#include "runtime/definition.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"
#include "runtime/scheduler.h"
#include "section.h"

enum { WORDS = 256 };
enum { LOW_PRIORITY = PROCESSOR_PRIORITY_DEFAULT, HIGH_PRIORITY };

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

static bool is_high(const lock_thread_t *self) { return runtime_index(self) < KEY(high); }

static uint64_t iterations_of(const lock_thread_t *self) {
    return keys[is_high(self) ? INDEX_high_iterations : INDEX_low_iterations].value;
}

static const char *setup(void) {
#include "runtime/rules.inc"
    if (KEY(timer) == WORD_tick)
        scheduler_tick();
    lock_object_init(&shared.lock);
    return 0;
}

static void prepare(lock_thread_t *self) {
    lock_set_priority(self, is_high(self) ? HIGH_PRIORITY : LOW_PRIORITY);
    own[runtime_index(self)].random =
        (runtime_seed * LOCK_MAX_THREADS + self->tid) * 0x9e3779b97f4a7c15u;
}

/* A random number, `mean` on average. */
static uint64_t draw(lock_thread_t *self, uint64_t mean) {
    uint64_t *random = &own[runtime_index(self)].random;
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    return (*random >> 32) * (2 * mean + 1) >> 32;
}

static void pause(lock_thread_t *self) {
    if (KEY(sleep))
        scheduler_sleep(self, draw(self, KEY(sleep)));
    else
        runtime_delay(draw(self, KEY(pause)));
}

/* The loop of a section. Whether it was rolled back. */
static bool reads_and_writes(lock_thread_t *self, uint64_t iterations) {
    uint64_t writes = KEY(writes);
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
    own[me].start = scheduler_clock(self);
    for (uint64_t i = 0; i < KEY(sections); i++) {
        pause(self);
        one_section(self, iterations);
    }
    own[me].end = scheduler_clock(self);
    outcome_note(self, own[me].result);
    return KEY(sections);
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

static void report(void) {
    METRIC_VALUE(high_elapsed) = elapsed(KEY(high));
    METRIC_VALUE(elapsed) = elapsed(runtime_threads);
    for (unsigned i = 0; i < runtime_threads; i++)
        METRIC_VALUE(roll_backs) += own[i].roll_backs;
}

static const char *verify(uint64_t pairs) {
    uint64_t sections = KEY(sections);
    uint64_t expected = 0, sum = 0;
    for (unsigned i = 0; i < runtime_threads; i++)
        expected += sections * (iterations_of(&lock_threads[i]) * KEY(writes) / PARTS);
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
