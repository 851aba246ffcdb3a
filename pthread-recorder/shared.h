/*
 * What the program's threads and the writer have in common. It lies in pages that a forked child
 * finds empty (MADV_WIPEONFORK): there `mode` is OFF, whatever way the child was made.
 */
#pragma once
#include "system.h"

#include <stdatomic.h>
#include <stddef.h>

enum { OFF, RECORDING, COUNTING }; /* COUNTING: recording has ended, acquisitions are counted */
enum { ACQUIRED = 2, RELEASE = 3, WAIT = 4, WAITED = 5, NOTHING_DONE = 8, BEGUN = 1 << 4 };
enum { RECORDS = 8192, RECORD_BITS = 13, SITES = 1 << 15, IDENTITY_BITS = 31 };
enum { STAMP_AT = 6, STAMP_BITS = 10, TIME_AT = 16 };

typedef struct {
    uint64_t word;
    uint32_t identity, site;
} record_t;

/*
 * A thread's records, a ring: the thread claims the next (`head`), the writer takes what is there
 * (`tail`). A record is whole when its word has the stamp of its round, so there is no lock and no
 * flag that a signal, a longjmp or a cancellation could leave held.
 */
typedef struct buffer {
    struct buffer *next; /* of all that ever were */
    _Atomic uint32_t use;
    uint32_t id; /* of the thread, in the log */
    int endings; /* how often its thread has said that it ends */
    uint64_t last;
    _Atomic uint64_t counted; /* acquisitions since recording has ended */
    _Alignas(64) uint32_t head;
    _Alignas(64) _Atomic uint32_t tail;
    _Atomic uint32_t waits; /* for room */
    /* The writer's own: a record that was claimed and is not whole, and since when. */
    uint32_t stuck;
    uint64_t stuck_since;
    _Alignas(64) record_t records[RECORDS];
} buffer_t;

enum { IN_USE, ENDED, FREE }; /* a buffer: ENDED, its thread has; FREE, and all is written */

typedef struct {
    _Atomic uint32_t mode, threads, ended;
    _Atomic uint32_t wake, asleep;    /* the writer sleeps on `wake` */
    _Atomic uint32_t ready;           /* the writer is: 1, or will not be: 2 */
    _Atomic uint32_t asked, answered; /* dlclose: all is to be named that was recorded so far */
    _Atomic uint32_t exiting, deep;   /* exit was called; RTLD_DEEPBIND was used */
    _Atomic uint64_t lost;
    _Atomic(buffer_t *) buffers;
    int writer, process;
    uint64_t start, most, cpu; /* cpu: that the program had taken when it exited */
    const char *log, *report;  /* in the program's first environment, copied */
    char paths[8192];
} state_t;

extern state_t *state HIDDEN;
extern _Atomic(uintptr_t)
    sites[SITES] HIDDEN; /* addresses by their hash; the number is the place + 1 */
enum { GONE = 1 };       /* a site whose module is no longer there */

static inline uint64_t stamp(uint32_t index) {
    return ((uint64_t)(index >> RECORD_BITS) + 1) & ((1u << STAMP_BITS) - 1);
}

uint64_t now(void) HIDDEN;
int writer(void *unused) HIDDEN;
void tell_of_no_writer(void) HIDDEN;

static inline void wake_writer(void) {
    atomic_fetch_add(&state->wake, 1);
    if (atomic_load(&state->asleep))
        futex_wake(&state->wake);
}
