/* lock_trace: replays lock sequences, that is, who locks an object in which order (Kawachiya 2005,
 * Figures 5.2, 5.3, 6.14 and 6.16). An object's first locker creates it. The argument `sequence` is
 * run-length text: `0x12,1x3,0x5` is twelve acquisitions by thread 0, three by thread 1, five by
 * thread 0. A slash separates the sequences of several objects; object i of `objects` has sequence
 * i modulo their number.
 *
 * Step k is run k of every object. There is a barrier between steps, so no lock is contended. Phase
 * k, from 1, is step k. Each section has `critical` iterations of a delay loop inside and `think`
 * behind it. */
#define WORKLOAD_lock_trace
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/guarded.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"

typedef struct {
    uint32_t thread, length;
} run_t;

static guarded_t objects[MAX_objects];
/* The sequences one after the other; sequence i begins at starts[i]. */
static run_t runs[sequence_RUNS];
static uint32_t starts[sequence_SEQUENCES + 1];
static uint32_t sequences, steps;

/* Reads a whole number from 0 to UINT32_MAX and the character behind it. False if there is none. */
static bool read_number(const char **text, uint32_t *number, char *behind) {
    uint64_t value = 0;
    const char *s = *text;
    for (; *s >= '0' && *s <= '9' && value <= UINT32_MAX; s++)
        value = value * 10 + (uint64_t)(*s - '0');
    bool read = s != *text && value <= UINT32_MAX;
    *number = (uint32_t)value;
    *behind = *s;
    *text = *s ? s + 1 : s;
    return read;
}

/* NULL, or why the argument is refused. */
static const char *read_sequences(const char *text) {
    char behind = ',';
    uint32_t count = 0;
    while (behind) {
        char x;
        if (count == sequence_RUNS || sequences == sequence_SEQUENCES)
            return "sequence: too many runs or sequences";
        run_t *run = &runs[count++];
        if (!read_number(&text, &run->thread, &x) || x != 'x' ||
            !read_number(&text, &run->length, &behind) || run->length == 0 ||
            (behind && behind != ',' && behind != '/'))
            return "sequence: not like 0x12,1x3,0x5/0x7";
        if (run->thread >= runtime_threads)
            return "sequence: names a thread that is not there";
        if (behind == ',')
            continue;
        starts[++sequences] = count;
        uint32_t length = count - starts[sequences - 1];
        steps = length > steps ? length : steps;
    }
    return 0;
}

static const char *setup(void) {
    const char *refused = read_sequences((const char *)(uintptr_t)KEY(sequence));
    for (uint64_t i = 0; !refused && i < KEY(objects); i++)
        lock_object_init_for(&objects[i].lock, &lock_threads[runs[starts[i % sequences]].thread]);
    return refused;
}

static void prepare(lock_thread_t *self) { (void)self; }

static lock_result_t replay(guarded_t *object, lock_thread_t *self, uint64_t length) {
    uint64_t critical = KEY(critical);
    uint64_t think = KEY(think);
    lock_result_t result = SUCCESS;
    for (uint64_t i = 0; i < length; i++) {
        result |= guarded_sync(object, self, critical);
        lock_safepoint(self);
        runtime_delay(think);
    }
    return result;
}

static uint64_t run(lock_thread_t *self) {
    uint64_t count = KEY(objects);
    uint64_t pairs = 0;
    lock_result_t result = SUCCESS;
    for (uint32_t step = 0; step < steps; step++) {
        runtime_barrier(self);
        if (runtime_index(self) == 0)
            runtime_phase(self, step + 1);
        uint32_t sequence = 0; /* of object i */
        for (uint64_t i = 0; i < count; i++) {
            const run_t *next = &runs[starts[sequence] + step];
            if (next < &runs[starts[sequence + 1]] && next->thread == runtime_index(self)) {
                result |= replay(&objects[i], self, next->length);
                pairs += next->length;
            }
            sequence = sequence + 1 == sequences ? 0 : sequence + 1;
        }
    }
    outcome_note(self, result);
    return pairs;
}

static const char *verify(uint64_t pairs) {
    uint64_t expected = 0;
    const char *error = 0;
    for (uint64_t i = 0; !error && i < KEY(objects); i++) {
        uint64_t sections = 0;
        for (uint32_t k = starts[i % sequences]; k < starts[i % sequences + 1]; k++)
            sections += runs[k].length;
        error = guarded_verify(&objects[i], sections);
        expected += sections;
    }
    return error ? error : outcome_verify(pairs, expected);
}
