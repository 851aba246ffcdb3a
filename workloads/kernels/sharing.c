/* sharing: what two threads do to each other, for `./lockcross measure`. Every one of `rounds`
 * rounds does something `times` times. Thread 0 announces phases: in round n, from 0, what is
 * measured begins with phase 4n+1 and ends with the next; some do a second thing from 4n+3 to 4n+4.
 *   dirty     thread 1 has written to as many lines. Thread 0 loads from each, one load after the
 *             other; second, it adds to each of them atomically, one after the other
 *   upgrade   thread 0 adds to as many lines of its own, atomically, one after the other; second,
 *             again, once thread 1 has read them, and then thread 0, so that both have a copy
 *   stores    thread 1 has written to as many lines. Thread 0 stores to each, none needs another;
 *             second, thread 1 has written to them again, and thread 0 adds to each atomically,
 *             none needs another
 *   stop      thread 0 stops thread 1 by a handshake and lets it go on; thread 1 polls a safepoint
 *             all the time
 *   unpark    once a round, thread 0 unparks thread 1. Both know when: thread 1 parks `lead` turns
 *             of a loop later, thread 0 unparks it `delay` turns later. Phase 4n+1 of thread 1 is
 *             when it begins to park, 4n+3 when it runs again
 *   sleep     what a thread does in order to park, but it need not sleep
 *   yields    thread 0 asks the kernel for another thread to run, and there is none
 *   turn      the threads wait for each other in turn, in a spin loop
 * The lines lie apart in memory, since processors fetch the neighbours of a line, too, and thread 0
 * goes over them in an order that none foresees. Its `pairs` are rounds times `times`. */
#define WORKLOAD_sharing
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/park.h"
#include "monitor/processor.h"
#include "runtime/definition.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

#include "kernels/chase.h"
#include "kernels/instructions.h"

/* Lines lie at every fifth place, so that there are some in all sets of a cache; of four places at
 * random one is used. */
enum { APART = 5, SPARE = 4, PLACES = SPARE * MAX_times };
enum { FIRST = 1, FIRST_END, AGAIN, AGAIN_END, PHASES_A_ROUND = 4 }; /* phases of round 0 */
enum {
    ADDITIONS_A_ROUND = 4
}; /* to each line, by `stores`; its stores are additions of one, too */

static chase_t lines[APART * PLACES];
static chase_t *in_turn[MAX_times]; /* the same, in the order of the chase */
static turn_t turn;
static volatile uint32_t finished; /* thread 0 is */
static struct {
    uint64_t number;
} __attribute__((aligned(LOCK_LINE))) done[2]; /* what each thread did, as `verify` counts it */

static const char *setup(void) { return 0; }

static void prepare(lock_thread_t *self) {
    if (runtime_index(self) != 0)
        return;
    static uint16_t places[PLACES];
    uint64_t times = KEY(times), random = 88172645463325252u;
    for (uint64_t i = 0; i < SPARE * times; i++)
        places[i] = (uint16_t)i;
    for (uint64_t i = 0; i < times; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t other = i + random % (SPARE * times - i);
        in_turn[i] = &lines[APART * places[other]];
        places[other] = places[i];
    }
    for (uint64_t i = 0; i < times; i++)
        in_turn[i]->next = in_turn[(i + 1) % times];
}

/* Not before all that precedes it has executed: reading the counter needs none of it. */
static void stamp(lock_thread_t *self, uint32_t round, uint32_t phase) {
    ORDER(SETTLE);
    runtime_phase(self, (uint64_t)PHASES_A_ROUND * round + phase);
}

static void load_all(uint64_t times) {
    const chase_t *line = in_turn[0];
    for (uint64_t i = 0; i < times; i++)
        line = line->next;
    done[0].number += line == in_turn[0] ? times : 0;
}

static void write_all(uint64_t times) {
    for (uint64_t i = 0; i < times; i++)
        in_turn[i]->count++;
}

/* Each waits until the core has had the line of the one before to itself: its result alone may come
 * from a copy that both have. */
static void add_to_all(uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
        fetch_add_acq_rel_u32(&in_turn[i]->count, 1);
        ORDER(SETTLE);
    }
}

static void store_to_all_apart(uint64_t times, uint32_t value) {
    for (uint64_t i = 0; i < times; i++)
        store_rlx_u32(&in_turn[i]->count, value);
}

static void add_to_all_apart(uint64_t times) {
    for (uint64_t i = 0; i < times; i++)
        fetch_add_acq_rel_u32(&in_turn[i]->count, 1);
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
    load_all(times);
    stamp(self, round, AGAIN);
    add_to_all(times);
    stamp(self, round, AGAIN_END);
}

static void round_of_stores(lock_thread_t *self, uint32_t round, uint64_t times) {
    bool other = runtime_index(self) == 1;
    if (other)
        write_all(times);
    runtime_barrier(self);
    if (!other) {
        stamp(self, round, FIRST);
        store_to_all_apart(times, ADDITIONS_A_ROUND * round + 2);
        stamp(self, round, FIRST_END);
    }
    runtime_barrier(self);
    if (other)
        write_all(times);
    runtime_barrier(self);
    if (other)
        return;
    stamp(self, round, AGAIN);
    add_to_all_apart(times);
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
        runtime_delay(KEY(lead));
        stamp(self, round, FIRST);
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

static void round_of_yield(lock_thread_t *self, uint32_t round, uint64_t times) {
    if (runtime_index(self) == 1)
        return;
    stamp(self, round, FIRST);
    for (uint64_t i = 0; i < times; i++) {
        yield_to_others(self);
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
    case WORD_stores:
        round_of_stores(self, round, times);
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
    case WORD_yields:
        round_of_yield(self, round, times);
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
        count += in_turn[i]->count;
    if (pairs != all)
        return "the number of pairs is wrong";
    if (KEY(op) == WORD_dirty)
        return count == 2 * all && done[0].number == all ? 0 : "a line was not read or written";
    if (KEY(op) == WORD_upgrade)
        return count == 3 * all && done[0].number == 2 * all ? 0 : "a line was not read or written";
    if (KEY(op) == WORD_stores)
        return count == ADDITIONS_A_ROUND * all ? 0 : "a line was not written";
    if (KEY(op) == WORD_unpark)
        return done[1].number == KEY(rounds) ? 0 : "a permit was lost";
    if (KEY(op) == WORD_turn)
        return turn.number == 2 * all ? 0 : "the turn is wrong";
    return 0;
}
