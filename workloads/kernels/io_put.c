/*
 * io_put: threads put one byte after the other into an output stream under the stream's lock
 * (Serrano and Grande 2014, sections 2 and 3 and appendix: fputc).
 *
 *   single  the program's only thread puts, with the lock that the stream chose
 *   multi   thread 0 starts the others and joins them: it does nothing; they put
 *   flock   as multi, but with the explicit lock of flockfile around each unlocked put
 *
 * A stream on a file is known not to block, one on a socket may block: what flockfile is not told.
 * As in the source put, flockfile and funlockfile are functions of a library, never inlined. Its
 * one thread becomes threads - 1 here; 2 threads are its case. What a full buffer is written to
 * takes no time, as /dev/null.
 */
#include "runtime/outcome.h"

enum { ITERATIONS, MODE, STREAM };
enum { SINGLE, MULTI, FLOCK };
enum { FILE_STREAM, SOCKET_STREAM };
enum { BUFFER_SIZE = 4096 };

typedef struct {
    lock_object_t lock;
    bool may_block;
    volatile uint8_t *next, *end; /* of the buffer */
    uint64_t written;             /* bytes that are no longer in the buffer */
    volatile uint8_t buffer[BUFFER_SIZE];
} __attribute__((aligned(LOCK_LINE))) stream_t;

static stream_t stream;

static const char *const modes[] = {"single", "multi", "flock", 0};
static const char *const streams[] = {"file", "socket", 0};
static runtime_key_t keys[] = {
    [ITERATIONS] = {.name = "iterations", .low = 1, .high = UINT32_MAX},
    [MODE] = {.name = "mode", .choices = modes},
    [STREAM] = {.name = "stream", .choices = streams, .optional = true},
    RUNTIME_KEYS_END,
};

static const char *setup(void) {
    if ((keys[MODE].value == SINGLE) != (runtime_threads == 1))
        return "mode single has 1 thread, multi and flock have 2 or more";
    lock_object_init(&stream.lock);
    stream.may_block = keys[STREAM].value == SOCKET_STREAM;
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
    uint64_t iterations = keys[ITERATIONS].value;
    bool explicit = keys[MODE].value == FLOCK;
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
    return outcome_verify(pairs, putters * keys[ITERATIONS].value);
}

const workload_t workload = {"io_put", keys, 1, LOCK_MAX_THREADS, setup, prepare, run, verify};
