/* monitors: locks whose monitors are found through a header word or are reused for other objects
 * (direct, monitor_cache, hot), seen from inside.
 *   waiter     thread 1 waits on one object and thread 0 holds another, while thread 0 uses all the
 *              others, which takes every monitor that can be taken
 *   hotness    one more object than there are hot locks proves hot
 *   storm      all threads acquire, nest, wait and notify on objects drawn by chance
 * A lost wake-up shows as a run that does not end. */
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/monitor.h"
#include "monitor/monitor_table.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

#if defined LOCKCROSS_MONITOR_CACHE_H || defined LOCKCROSS_HOT_H
#define REUSES_MONITORS 1
#include "monitor/recycling.h"
#endif

enum { ITERATIONS };
#ifdef REUSES_MONITORS
enum { OBJECTS = 4 * MONITOR_CACHE_SIZE };
#else
enum { OBJECTS = 64 };
#endif

static guarded_t objects[OBJECTS];
static volatile uint32_t sections[OBJECTS]; /* by fetch-and-add */
static volatile uint32_t is_waiting, is_over, finished;
static const char *volatile failure;

static runtime_key_t keys[] = {[ITERATIONS] = {.name = "iterations", .low = 1, .high = 100000},
                               RUNTIME_KEYS_END};

static void expect(bool condition, const char *what) {
    if (!condition && !failure)
        failure = what;
}

static void section(unsigned i, lock_thread_t *self) {
    guarded_section(&objects[i], self, 0);
    fetch_add_acq_rel_u32(&sections[i], 1);
}

static const char *setup(void) {
    for (unsigned i = 0; i < OBJECTS; i++) {
        lock_object_init(&objects[i].lock);
#if defined LOCKCROSS_DIRECT_H || defined LOCKCROSS_HOT_H
        objects[i].lock.extra[0] = 2 * i + 2; /* what the header holds for others */
#endif
    }
    return 0;
}

static void check_header_data(void) {
    for (unsigned i = 0; i < OBJECTS; i++) {
#if defined LOCKCROSS_DIRECT_H
        expect(direct_information(&objects[i].lock) == 2 * i + 2, "a displaced word is lost");
#elif defined LOCKCROSS_HOT_H
        expect(hot_header_data(&objects[i].lock) == 2 * i + 2, "a displaced word is lost");
#endif
    }
}

#ifdef REUSES_MONITORS
static void check_free_list(void) {
    unsigned count = 0;
    for (monitor_t *monitor = monitor_recycling.free; monitor; monitor = monitor->hash_next) {
        expect(!monitor->object && monitor_is_idle(monitor), "a free monitor is in use");
        count++;
    }
    expect(count == monitor_recycling.free_count, "the free list is not counted");
    expect(count <= MONITOR_FREE_MAX, "the free list is longer than its bound");
    expect(monitor_table.used <= MONITOR_CACHE_SIZE, "the cache grew while monitors were unused");
}
#endif

/* Thread 1, with the lock of object 0. */
static void await_notification(lock_thread_t *self) {
    for (unsigned i = 0; i < 3; i++)
        lock_acquire(&objects[0].lock, self);
    is_waiting = 1;
    expect(lock_wait(&objects[0].lock, self) == SUCCESS, "a wait did not succeed");
    expect(is_over, "a wait ended before its notification");
    for (unsigned i = 0; i < 3; i++)
        expect(lock_release(&objects[0].lock, self) == SUCCESS, "a waiter lost its nesting");
    expect(lock_release(&objects[0].lock, self) == ILLEGAL_STATE, "a waiter gained nesting");
}

/* Thread 0, meanwhile. */
static void take_all_monitors(lock_thread_t *self) {
    for (bool waits = false; !waits;) {
        lock_acquire(&objects[0].lock, self);
        waits = is_waiting;
        lock_release(&objects[0].lock, self);
    }
    lock_acquire(&objects[1].lock, self);
    for (unsigned i = 2; i < OBJECTS; i++) {
        lock_acquire(&objects[i].lock, self);
        section(i, self);
        lock_release(&objects[i].lock, self);
#ifdef REUSES_MONITORS
        check_free_list();
#endif
    }
    section(1, self);
    expect(lock_release(&objects[1].lock, self) == SUCCESS, "a holder lost its monitor");
    lock_acquire(&objects[0].lock, self);
    is_over = 1;
    expect(lock_notify(&objects[0].lock, self) == SUCCESS, "a notify did not succeed");
    lock_release(&objects[0].lock, self);
}

#ifdef LOCKCROSS_HOT_H
static unsigned hot_objects(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < OBJECTS; i++)
        count += (objects[i].lock.extra[0] & HOT_BIT) != 0;
    return count;
}

static void make_hot(unsigned i, lock_thread_t *self) {
    for (unsigned k = 0; k < HOT_THRESHOLD; k++) {
        expect(!(objects[i].lock.extra[0] & HOT_BIT), "an object is hot too early");
        lock_acquire(&objects[i].lock, self);
        section(i, self);
        if (k + 1 < HOT_THRESHOLD)
            lock_release(&objects[i].lock, self);
    }
    expect(objects[i].lock.extra[0] & HOT_BIT, "an object does not prove hot");
    expect(lock_release(&objects[i].lock, self) == SUCCESS, "a holder lost its monitor");
}

static void check_hotness(lock_thread_t *self) {
    for (unsigned i = 0; i < HOT_LOCKS; i++) {
        make_hot(i, self);
        expect(hot_objects() == i + 1, "another object lost its hot lock too early");
    }
    lock_acquire(&objects[0].lock, self); /* the first in turn, but in use */
    make_hot(HOT_LOCKS, self);
    expect(hot_objects() == HOT_LOCKS, "there are not as many hot objects as hot locks");
    expect(objects[0].lock.extra[0] & HOT_BIT, "a hot lock in use was taken");
    expect(objects[1].lock.extra[0] == 4, "the header of a former hot object is not restored");
    lock_release(&objects[0].lock, self);
    check_header_data();
}
#endif

static void storm(lock_thread_t *self) {
    uint64_t random = runtime_seed * 0x9e3779b97f4a7c15u + self->tid;
    for (uint64_t turn = 0; turn < keys[ITERATIONS].value; turn++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        unsigned i = random % 16;
        unsigned depth = 1 + (random >> 8) % 3;
        for (unsigned k = 0; k < depth; k++)
            lock_acquire(&objects[i].lock, self);
        section(i, self);
        if ((random >> 16) % 4 == 0)
            lock_notify(&objects[i].lock, self);
        else if ((random >> 16) % 16 == 1 && runtime_index(self) != 0)
            lock_wait(&objects[i].lock, self);
        section(i, self);
        for (unsigned k = 0; k < depth; k++)
            expect(lock_release(&objects[i].lock, self) == SUCCESS, "a release did not succeed");
        lock_safepoint(self);
    }
    fetch_add_acq_rel_u32(&finished, 1);
    while (runtime_index(self) == 0 && load_acq_u32(&finished) < runtime_threads) {
        for (unsigned i = 0; i < 16; i++) {
            lock_acquire(&objects[i].lock, self);
            lock_notify_all(&objects[i].lock, self);
            lock_release(&objects[i].lock, self);
        }
    }
}

static void prepare(lock_thread_t *self) {
#ifdef LOCKCROSS_HOT_H
    if (runtime_index(self) == 0)
        check_hotness(self);
#else
    (void)self;
#endif
}

static uint64_t run(lock_thread_t *self) {
    if (runtime_index(self) == 1)
        await_notification(self);
    else if (runtime_index(self) == 0)
        take_all_monitors(self);
    runtime_barrier(self);
    storm(self);
    return keys[ITERATIONS].value;
}

static const char *verify(uint64_t pairs) {
    check_header_data();
    for (unsigned i = 0; i < OBJECTS; i++) {
        const char *error = guarded_verify(&objects[i], sections[i]);
        expect(!error, error);
    }
    if (failure)
        return failure;
    return pairs == keys[ITERATIONS].value * runtime_threads ? 0 : "a turn was left out";
}

const workload_t workload = {"monitors", keys, 2, LOCK_MAX_THREADS, setup, prepare, run, verify};
