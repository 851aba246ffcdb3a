/*
 * What workloads.def says of a kernel's workload, in C. The kernel defines WORKLOAD_<name> before
 * it includes this file, and then the four functions declared here. It gets:
 *
 *   KEY(key)                  the value of an argument; of a choice, one of its words: WORD_<word>
 *   MAX_<key>                 the highest value of a number, for the sizes of arrays
 *   <key>_RUNS, _SEQUENCES    the limits of a run-length text
 *   METRIC_VALUE(name)        a metric, to be set in verify()
 *   workload                  the workload itself, for the runtime
 *
 * The rules are not here: setup() includes runtime/rules.inc.
 */
#ifndef RUNTIME_DEFINITION_H
#define RUNTIME_DEFINITION_H
#include <stdint.h>

#include "lock.h"
#include "registry.h"
#include "runtime/runtime.h"

/* What each must do: workload_t in runtime.h. */
static const char *setup(void);
static void prepare(lock_thread_t *self);
static uint64_t run(lock_thread_t *self);
static const char *verify(uint64_t pairs);

/* For bounds. */
enum {
    LOCK_MOST_THREADS = LOCK_MEMBER(_max_threads) ? LOCK_MEMBER(_max_threads) : LOCK_MAX_THREADS
};

#ifndef LOCKCROSS_SCHEDULER
enum { OWN_CORES, ANY_CORES, SHARED_CORES };
#define WORKLOAD(name, fewest, most, locks, cores)                                                 \
    _Static_assert(cores != SHARED_CORES, #name " is for programs with -DLOCKCROSS_SCHEDULER=1");
#include "workloads.def"
#endif

/* Of each key, where it stands in keys[]. */
enum {
#define NUMBER(key, presence, default, low, high) INDEX_##key,
#define CHOICE(key, presence, default, words) INDEX_##key,
#define SEQUENCES(key, presence, default, runs, sequences) INDEX_##key,
#include "workloads.def"
};

/* Bounds. */
#define NUMBER(key, presence, default, low, high) enum { MAX_##key = high };
#define SEQUENCES(key, presence, default, runs, sequences)                                         \
    enum { key##_RUNS = runs, key##_SEQUENCES = sequences };
#include "workloads.def"

/* Words, as numbers and as a list for each key. */
#define WORD(word) WORD_##word,
#define CHOICE(key, presence, default, words) enum { words };
#include "workloads.def"
#undef WORD

#define WORD(word) #word,
#define CHOICE(key, presence, default, words) static const char *const key##s[] = {words 0};
#include "workloads.def"
#undef WORD

static runtime_key_t keys[] = {
#define NUMBER(key, presence, default, low, high) RUNTIME_NUMBER(key, presence(default), low, high),
#define CHOICE(key, presence, default, words) RUNTIME_CHOICE(key, presence(WORD_##default), key##s),
#define SEQUENCES(key, presence, default, runs, sequences)                                         \
    RUNTIME_CHOICE(key, presence(0), runtime_text),
#include "workloads.def"
    RUNTIME_KEYS_END,
};
#define KEY(key) (keys[INDEX_##key].value)

#ifdef LOCKCROSS_EXTRAS
enum {
#define METRIC(name, unit, initial) METRIC_##name,
#include "workloads.def"
};
runtime_extra_t runtime_extras[] = {
#define METRIC(name, unit, initial) {#name, initial},
#include "workloads.def"
    {0},
};
#define METRIC_VALUE(name) (runtime_extras[METRIC_##name].value)
#endif

const workload_t workload = {
#define WORKLOAD(name, fewest, most, locks, cores)                                                 \
    #name, keys, fewest, most, setup, prepare, run, verify
#include "workloads.def"
};

#endif
