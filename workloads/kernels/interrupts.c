/* interrupts: what it takes one thread to make all others of the process execute a fence, for
 * `./lockcross measure`. Every one of `rounds` rounds thread 0 does it `times` times; in round n,
 * from 0, that begins with phase 2n+1 and ends with the next. The other threads run all the time,
 * and thread 0 waits until each has answered.
 *   membarrier   a process-wide barrier of the kernel
 *   signal       a signal to each other thread, whose handler answers
 *   poll         a word of each other thread, which it polls, and answers behind a full fence
 * In simulated time a barrier and signals are charges. Its `pairs` are rounds times `times`; `lost`
 * says, of an interrupt on the host, for how many ticks of its counter a thread did not run. */
#define WORKLOAD_interrupts
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/process_barrier.h"
#include "lock.h"
#include "runtime/definition.h"
#include "runtime/runtime.h"

static struct {
    volatile uint32_t asked, answered;
    uint64_t lost; /* by this thread, in ticks */
} __attribute__((aligned(LOCK_LINE))) others[LOCK_MAX_THREADS];
static volatile uint32_t finished; /* thread 0 is */

#ifdef LOCKCROSS_NATIVE
#include "runtime/interrupts.h"
#else
static void interrupts_begin(const lock_thread_t *self) { (void)self; }
static void interrupt_by_membarrier(void) {
#if LOCKCROSS_CHARGE_LATENCY == LATENCY_ENGINE
    charge(CHARGE_BARRIER);
#endif
}
static void interrupt_by_signal(unsigned thread) {
    (void)thread;
    charge(CHARGE_STOP);
}
static bool interrupts_answered(uint32_t number) { return (void)number, true; }
static uint64_t ticks_lost(unsigned me) {
    (void)me;
    return 0;
}
#endif

static const char *setup(void) { return 0; }
static void prepare(lock_thread_t *self) { interrupts_begin(self); }

static void poll(unsigned me) {
    uint32_t number = load_acq_u32(&others[me].asked);
    if (number != others[me].answered)
        store_then_fence_u32(&others[me].answered, number);
}

static void ask_all(uint32_t number) {
    for (unsigned i = 1; i < runtime_threads; i++)
        store_rel_u32(&others[i].asked, number);
    for (unsigned i = 1; i < runtime_threads; i++) {
        while (load_acq_u32(&others[i].answered) != number)
            cpu_relax();
    }
}

static void signal_all(uint32_t number) {
    for (unsigned i = 1; i < runtime_threads; i++)
        interrupt_by_signal(i);
    while (!interrupts_answered(number * (runtime_threads - 1)))
        cpu_relax();
}

static void interrupt_all(uint32_t number) {
    switch (KEY(op)) {
    case WORD_membarrier:
        interrupt_by_membarrier();
        break;
    case WORD_signal:
        signal_all(number);
        break;
    case WORD_poll:
        ask_all(number);
        break;
    }
}

static uint64_t run(lock_thread_t *self) {
    unsigned me = runtime_index(self);
    if (me != 0) {
        while (load_acq_u32(&finished) == 0) {
            poll(me);
            others[me].lost += ticks_lost(me);
            lock_safepoint(self);
        }
        return 0;
    }
    uint32_t number = 0;
    for (uint64_t round = 0; round < KEY(rounds); round++) {
        runtime_phase(self, 2 * round + 1);
        for (uint64_t i = 0; i < KEY(times); i++) {
            interrupt_all(++number);
            lock_safepoint(self);
        }
        runtime_phase(self, 2 * round + 2);
    }
    store_rel_u32(&finished, 1);
    return number;
}

static const char *verify(uint64_t pairs) {
    uint64_t all = KEY(rounds) * KEY(times), ticks = 0;
    for (unsigned i = 1; i < runtime_threads; i++) {
        ticks += others[i].lost;
        if (KEY(op) == WORD_poll && others[i].answered != all)
            return "a thread did not answer";
    }
    if (runtime_threads > 1)
        METRIC_VALUE(lost) = ticks / (all * (runtime_threads - 1));
    return pairs == all ? 0 : "the number of pairs is wrong";
}
