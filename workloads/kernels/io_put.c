/*
 * io_put: threads put bytes one at a time into an output stream under the stream's lock (Serrano
 * and Grande 2014, sections 2 and 3 and appendix: fputc), `iterations` bytes each.
 *
 *   mode single  the program's only thread puts, with the lock that the stream chose
 *   mode multi   thread 0 starts the others and joins them, and does nothing else; they put
 *   mode flock   as multi, but with the explicit lock of flockfile around each unlocked put
 *
 * A stream on a file is known not to block; one on a socket may block. flockfile does not know
 * which of them it locks.
 *
 * As in the source, put, flockfile and funlockfile are functions of a library and never inlined.
 * The source's one thread becomes threads - 1 here; 2 threads are its case. Writing a full buffer
 * out takes no time, as to /dev/null.
 */
#define WORKLOAD_io_put
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "runtime/definition.h"
#include "runtime/outcome.h"
#include "runtime/runtime.h"
#include "section.h"

enum { BUFFER_SIZE = 4096 };

typedef struct {
    lock_object_t lock;
    bool may_block;
    volatile uint8_t *next, *end; /* of the buffer */
    uint64_t written;             /* bytes that are no longer in the buffer */
    volatile uint8_t buffer[BUFFER_SIZE];
} __attribute__((aligned(LOCK_LINE))) stream_t;

static stream_t stream;

static const char *setup(void) {
#include "runtime/rules.inc"
    lock_object_init(&stream.lock);
    stream.may_block = KEY(stream) == WORD_socket;
    stream.next = stream.buffer;
    stream.end = stream.buffer + BUFFER_SIZE;
    return 0;
}

static void prepare(lock_thread_t *self) { (void)self; }

static __attribute__((noinline)) void overflow(stream_t *s, uint8_t byte) {
    s->written += (uint64_t)(s->next - s->buffer);
    s->next = s->buffer;
    *s->next++ = byte;
}

static inline void put_unlocked(stream_t *s, uint8_t byte) {
    if (s->next >= s->end)
        overflow(s, byte);
    else
        *s->next++ = byte;
}

static __attribute__((noinline)) lock_result_t put(stream_t *s, lock_thread_t *self, uint8_t byte) {
    lock_result_t result =
        s->may_block ? lock_acquire(&s->lock, self) : lock_acquire_short(&s->lock, self);
    put_unlocked(s, byte);
    return result | lock_release(&s->lock, self);
}

static __attribute__((noinline)) lock_result_t flockfile(stream_t *s, lock_thread_t *self) {
    return lock_acquire(&s->lock, self);
}

static __attribute__((noinline)) lock_result_t funlockfile(stream_t *s, lock_thread_t *self) {
    return lock_release(&s->lock, self);
}

static uint64_t run(lock_thread_t *self) {
    uint64_t iterations = KEY(iterations);
    bool explicit = KEY(mode) == WORD_flock;
    lock_result_t result = SUCCESS;
    if (runtime_threads > 1 && runtime_index(self) == 0)
        return 0;
    for (uint64_t i = 0; i < iterations; i++) {
        if (explicit) {
            result |= flockfile(&stream, self);
            put_unlocked(&stream, (uint8_t)i);
            result |= funlockfile(&stream, self);
        } else {
            result |= put(&stream, self, (uint8_t)i);
        }
        lock_safepoint(self);
    }
    outcome_note(self, result);
    return iterations;
}

static const char *verify(uint64_t pairs) {
    uint64_t putters = runtime_threads > 1 ? runtime_threads - 1 : 1;
    if (stream.written + (uint64_t)(stream.next - stream.buffer) != pairs)
        return "bytes of the stream are lost";
    if (!lock_is_idle(&stream.lock))
        return "the lock is not idle at the end";
    return outcome_verify(pairs, putters * KEY(iterations));
}
