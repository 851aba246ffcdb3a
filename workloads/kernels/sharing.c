/* sharing: what two threads do to each other, for `./lockcross measure`. Every one of `rounds`
 * rounds does something `times` times. Thread 0 announces phases: in round n, from 0, what is
 * measured begins with phase 4n+1 and ends with the next; some do a second thing from 4n+3 to 4n+4.
 *   dirty     thread 1 has written to as many lines. Thread 0 loads from each, one load after the
 *             other; second, it adds to each of them atomically
 *   upgrade   thread 0 adds to as many lines of its own, atomically, one after the other; second,
 *             again, once thread 1 has read them
 *   stop      thread 0 stops thread 1 by a handshake and lets it go on; thread 1 polls a safepoint
 *             all the time
 *   unpark    once a round, thread 0 unparks thread 1, which parked `delay` turns of a loop ago;
 *             phase 4n+3 is that of thread 1, when it runs again
 *   sleep     what a thread does in order to park, but it need not sleep
 *   turn      the threads wait for each other in turn, in a spin loop
 * Its `pairs` are rounds times `times`. */
#define WORKLOAD_sharing
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/park.h"
#include "runtime/definition.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

#include "kernels/chase.h"

enum { FIRST = 1, FIRST_END, AGAIN, AGAIN_END, PHASES_A_ROUND = 4 }; /* phases of round 0 */

static chase_t lines[MAX_times];
static turn_t turn;
static volatile uint32_t finished; /* thread 0 is */
static struct {
    uint64_t number;
} __attribute__((aligned(LOCK_LINE))) done[2]; /* what each thread did, as `verify` counts it */

static const char *setup(void) { return 0; }

static void prepare(lock_thread_t *self) {
    if (runtime_index(self) == 0)
        chase_link(lines, KEY(times));
}

static void stamp(lock_thread_t *self, uint32_t round, uint32_t phase) {
    runtime_phase(self, (uint64_t)PHASES_A_ROUND * round + phase);
}

static void load_all(uint64_t times) {
    const chase_t *line = lines;
    for (uint64_t i = 0; i < times; i++)
        line = line->next;
    done[0].number += line == lines ? times : 0;
}

static void write_all(uint64_t times) {
    for (uint64_t i = 0; i < times; i++)
        lines[i].count++;
}

static void add_to_all(uint64_t times) {
    chase_t *line = lines;
    for (uint64_t i = 0; i < times; i++) {
        fetch_add_acq_rel_u32(&line->count, 1);
        line = line->next;
    }
}

static void round_of_dirty(lock_thread_t *self, uint32_t round, uint64_t times) {
    if (runtime_index(self) == 1)
        write_all(times);
    runtime_barrier(self);
    if (runtime_index(self) == 1)
        return;
    stamp(self, round, FIRST);
    load_all(times);
    stamp(self, round, AGAIN);
    add_to_all(times);
    stamp(self, round, AGAIN_END);
}

static void round_of_upgrade(lock_thread_t *self, uint32_t round, uint64_t times) {
    if (runtime_index(self) == 0) {
        write_all(times);
        stamp(self, round, FIRST);
        add_to_all(times);
        stamp(self, round, FIRST_END);
    }
    runtime_barrier(self);
    if (runtime_index(self) == 1)
        load_all(times);
    runtime_barrier(self);
    if (runtime_index(self) == 1)
        return;
    stamp(self, round, AGAIN);
    add_to_all(times);
    stamp(self, round, AGAIN_END);
}

static void round_of_stop(lock_thread_t *self, uint32_t round, uint64_t times) {
    if (runtime_index(self) == 1)
        return;
    stamp(self, round, FIRST);
    for (uint64_t i = 0; i < times; i++) {
        handshake_stop(self, &lock_threads[1]);
        handshake_resume(self, &lock_threads[1]);
        lock_safepoint(self);
    }
    stamp(self, round, FIRST_END);
}

static void round_of_unpark(lock_thread_t *self, uint32_t round) {
    if (runtime_index(self) == 1) {
        turn_pass(&turn, round + 1);
        park(self);
        stamp(self, round, AGAIN);
        done[1].number++;
        return;
    }
    turn_await(&turn, self, round + 1);
    runtime_delay(KEY(delay));
    stamp(self, round, FIRST);
    unpark(&lock_threads[1]);
    stamp(self, round, FIRST_END);
}

/* A thread that finds its permit when it has told the kernel what it waits for. */
static void do_not_sleep(void) {
#if defined(LOCKCROSS_NATIVE) && !defined(LOCKCROSS_SCHEDULER)
    static volatile uint32_t permit = 1;
    lock_sleep(&permit, 0);
#else
    charge(CHARGE_PARK);
#endif
}

static void round_of_sleep(lock_thread_t *self, uint32_t round, uint64_t times) {
    if (runtime_index(self) == 1)
        return;
    stamp(self, round, FIRST);
    for (uint64_t i = 0; i < times; i++) {
        do_not_sleep();
        lock_safepoint(self);
    }
    stamp(self, round, FIRST_END);
}

static void round_of_turn(lock_thread_t *self, uint32_t round, uint32_t times) {
    uint32_t mine = 2 * times * round + runtime_index(self);
    if (runtime_index(self) == 0)
        stamp(self, round, FIRST);
    for (uint32_t i = 0; i < times; i++, mine += 2) {
        turn_await(&turn, self, mine);
        turn_pass(&turn, mine + 1);
    }
    if (runtime_index(self) == 0)
        stamp(self, round, FIRST_END);
}

static void one_round(lock_thread_t *self, uint32_t round) {
    uint32_t times = (uint32_t)KEY(times);
    switch (KEY(op)) {
    case WORD_dirty:
        round_of_dirty(self, round, times);
        break;
    case WORD_upgrade:
        round_of_upgrade(self, round, times);
        break;
    case WORD_stop:
        round_of_stop(self, round, times);
        break;
    case WORD_unpark:
        round_of_unpark(self, round);
        break;
    case WORD_sleep:
        round_of_sleep(self, round, times);
        break;
    case WORD_turn:
        round_of_turn(self, round, times);
        break;
    }
}

static uint64_t run(lock_thread_t *self) {
    uint32_t rounds = (uint32_t)KEY(rounds);
    bool stopped = KEY(op) == WORD_stop;
    for (uint32_t round = 0; round < rounds; round++) {
        one_round(self, round);
        if (!stopped) /* there thread 1 is to be found in its loop */
            runtime_barrier(self);
        lock_safepoint(self);
    }
    if (runtime_index(self) == 0)
        store_rel_u32(&finished, 1);
    while (load_acq_u32(&finished) == 0) /* thread 1 */
        lock_safepoint(self);
    return runtime_index(self) == 0 ? rounds * KEY(times) : 0;
}

static const char *verify(uint64_t pairs) {
    uint64_t all = KEY(rounds) * KEY(times), count = 0;
    for (uint64_t i = 0; i < KEY(times); i++)
        count += lines[i].count;
    if (pairs != all)
        return "the number of pairs is wrong";
    if (KEY(op) == WORD_dirty)
        return count == 2 * all && done[0].number == all ? 0 : "a line was not read or written";
    if (KEY(op) == WORD_upgrade)
        return count == 3 * all && done[0].number == all ? 0 : "a line was not read or written";
    if (KEY(op) == WORD_unpark)
        return done[1].number == KEY(rounds) ? 0 : "a permit was lost";
    if (KEY(op) == WORD_turn)
        return turn.number == 2 * all ? 0 : "the turn is wrong";
    return 0;
}
