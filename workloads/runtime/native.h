/*
 * The host itself as the engine (-DLOCKCROSS_NATIVE=1). Part of runtime.c.
 *
 * Each host thread runs on a CPU of its own, named by the key `cpus`. It reads the host's
 * constant-rate counter where its region begins and ends, at its phases, and around a chain of
 * dependent additions right before and right after the region: the chain takes one core cycle an
 * addition, so it says how many core cycles a tick is. Several threads also hand a line round
 * before and after: that says how far apart their CPUs are, which a hypervisor may change at any
 * time. Where the kernel gives a user-mode cycle counter, that is read too. The result line has all
 * of it as `host` (docs/interfaces.md, section 4).
 *
 * A thread that parks sleeps in the kernel (futex); where threads share cores it is switched out.
 * Memory is touched before anything is timed.
 */
#ifndef RUNTIME_NATIVE_H
#define RUNTIME_NATIVE_H
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "runtime/host.h"
#include "runtime/marker.h"
#include "runtime/runtime.h"
#include "runtime/turn.h"

#if defined(__x86_64__)
enum {
    SYS_READ = 0,
    SYS_SCHED_YIELD = 24,
    SYS_PRCTL = 157,
    SYS_FUTEX = 202,
    SYS_SETAFFINITY = 203,
    SYS_PERF_EVENT_OPEN = 298
};
/* Not an immediate operand: some cores carry those out while they rename registers. */
#define NATIVE_ADD "addq %[one], %[sum]\n\t"
#elif defined(__powerpc64__)
enum {
    SYS_READ = 3,
    SYS_SCHED_YIELD = 158,
    SYS_PRCTL = 171,
    SYS_FUTEX = 221,
    SYS_SETAFFINITY = 222,
    SYS_PERF_EVENT_OPEN = 319
};
#define NATIVE_ADD "add %[sum], %[sum], %[one]\n\t"
#else
enum {
    SYS_READ = 63,
    SYS_FUTEX = 98,
    SYS_SETAFFINITY = 122,
    SYS_SCHED_YIELD = 124,
    SYS_PRCTL = 167,
    SYS_PERF_EVENT_OPEN = 241
};
#define NATIVE_ADD "add %[sum], %[sum], %[one]\n\t"
#endif

enum { PRCTL_PARENT_DEATH = 1, SIGNAL_KILL = 9 };
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };
enum { NATIVE_CPUS = 1024, NATIVE_PHASES = 256, NATIVE_PAGE = 4096 };
enum { NATIVE_CHAIN_TURNS = 4096, NATIVE_CHAIN = 16 * NATIVE_CHAIN_TURNS };
enum { NATIVE_WARM_ROUNDS = 20, NATIVE_ROUNDS = 200 }; /* of the line that is handed round */

static struct {
    uint64_t begin, end, before, after; /* ticks; of the chains */
    uint64_t cycles, chain_cycles;      /* user mode, by the kernel's counter */
    long counter;                       /* its file, or negative */
    uint32_t phases;                    /* that were announced */
    struct {
        uint64_t number, ticks;
    } phase[NATIVE_PHASES]; /* of the thread of this number */
} __attribute__((aligned(LOCK_LINE))) native[LOCK_MAX_THREADS];
static unsigned native_cpu[LOCK_MAX_THREADS];

static runtime_key_t native_keys[] = {
    {"cpus", 0, 0, runtime_text, false, 0},
    RUNTIME_KEYS_END,
};

/* cpus=0,2,1: the CPU of each host thread. */
static void native_setup(void) {
    /* A lock that waits for ever must not outlive who started it. */
    runtime_syscall(SYS_PRCTL, PRCTL_PARENT_DEATH, SIGNAL_KILL, 0, 0, 0);
    const char *s = (const char *)(uintptr_t)native_keys[0].value;
    for (unsigned i = 0; i < HOST_THREADS; i++) {
        unsigned cpu = 0, digits = 0;
        for (; s && *s >= '0' && *s <= '9' && digits < 4; s++, digits++)
            cpu = cpu * 10 + (unsigned)(*s - '0');
        if (digits == 0 || cpu >= NATIVE_CPUS)
            bad_argument("cpus",
                         "the number of a CPU for each thread or core is expected, as in 0,2");
        native_cpu[i] = cpu;
        s += *s == ',';
    }
    for (volatile char *page = (char *)native; page < _end; page += NATIVE_PAGE)
        *page = *page;
    for (volatile char *page = (char *)native; page > __bss_start; page -= NATIVE_PAGE)
        *page = *page;
}

static long native_counter(void) {
    /* The kernel's struct perf_event_attr, in its first version: cycles, this thread, user mode. */
    static const struct {
        uint32_t type, size;
        uint64_t config, period, sample_type, read_format, flags, wakeup, config1;
    } attributes = {.size = 64, .flags = 1 << 5 | 1 << 6};
    return runtime_syscall(SYS_PERF_EVENT_OPEN, (long)&attributes, 0, -1, -1, 0);
}

static uint64_t native_counted(unsigned index) {
    uint64_t count = 0;
    long file = native[index].counter;
    if (file >= 0 && runtime_syscall(SYS_READ, file, (long)&count, sizeof count, 0, 0) < 0)
        lock_fatal("the counter of cycles cannot be read");
    return count;
}

void native_begin(unsigned index) {
    static uint64_t masks[LOCK_MAX_THREADS][NATIVE_CPUS / 64];
    unsigned cpu = native_cpu[index];
    masks[index][cpu / 64] = (uint64_t)1 << cpu % 64;
    if (runtime_syscall(SYS_SETAFFINITY, 0, sizeof masks[index], (long)masks[index], 0, 0) < 0)
        lock_fatal("a thread could not be bound to its CPU");
    native[index].counter = native_counter();
}

/* Ticks that the chain took. */
static uint64_t native_chain(void) {
    uint64_t sum = 0, one = 1;
    uint64_t start = read_ticks();
    for (unsigned turns = NATIVE_CHAIN_TURNS; turns != 0; turns--) {
        __asm__ volatile(".rept 16\n\t" NATIVE_ADD ".endr"
                         : [sum] "+r"(sum)
                         : [one] "r"(one)
                         : "cc");
    }
    __asm__ volatile("" : : "r"(sum) : "memory");
    return read_ticks() - start;
}

static uint64_t native_round_ticks[2]; /* of NATIVE_ROUNDS, before and after */

#ifndef LOCKCROSS_SCHEDULER
static turn_t native_turn;

/* Every thread takes part. */
static void native_hand_round(unsigned index, bool after) {
    enum { ALL = NATIVE_WARM_ROUNDS + NATIVE_ROUNDS };
    uint32_t turn = (after ? ALL * runtime_threads : 0) + index;
    uint64_t start = 0;
    for (unsigned round = 0; round < ALL; round++, turn += runtime_threads) {
        while (load_acq_u32(&native_turn.number) != turn) {
        }
        if (round == NATIVE_WARM_ROUNDS && index == 0)
            start = read_ticks();
        turn_pass(&native_turn, turn + 1);
    }
    if (index != 0)
        return;
    while (load_acq_u32(&native_turn.number) != turn) {
    }
    native_round_ticks[after] = read_ticks() - start;
}
#endif

void native_before(unsigned index) {
    uint64_t counted = native_counted(index);
    native[index].before = native_chain();
    native[index].chain_cycles = native_counted(index) - counted;
}

void native_enter(unsigned index) {
    native[index].cycles = native_counted(index);
    native[index].begin = read_ticks();
}

void native_leave(unsigned index) {
    native[index].end = read_ticks();
    native[index].cycles = native_counted(index) - native[index].cycles;
    native[index].after = native_chain();
}

static void native_phase(const lock_thread_t *self, uint64_t phase) {
    unsigned index = runtime_index(self);
    uint32_t place = native[index].phases++;
    if (place < NATIVE_PHASES) {
        native[index].phase[place].number = phase;
        native[index].phase[place].ticks = read_ticks();
    }
}

static void put_field(const char *name, uint64_t value) { put(name), put_number(value); }

static void put_native(void) {
    put_field(",\"host\":{\"chain\":", NATIVE_CHAIN);
    if (native_round_ticks[1] != 0) {
        put_field(",\"handovers\":", (uint64_t)NATIVE_ROUNDS * runtime_threads);
        put_field(",\"handover_ticks\":[", native_round_ticks[0]);
        put_field(",", native_round_ticks[1]), put("]");
    }
    put(",\"threads\":[");
    for (unsigned i = 0; i < HOST_THREADS; i++) {
        put_field(i ? ",{\"begin\":" : "{\"begin\":", native[i].begin);
        put_field(",\"end\":", native[i].end), put_field(",\"before\":", native[i].before);
        put_field(",\"after\":", native[i].after);
        if (native[i].counter >= 0) {
            put_field(",\"cycles\":", native[i].cycles);
            put_field(",\"chain_cycles\":", native[i].chain_cycles);
        }
        put(",\"phases\":["), flush(1);
        for (uint32_t p = 0; p < native[i].phases && p < NATIVE_PHASES; p++) {
            put_field(p ? ",[" : "[", native[i].phase[p].number);
            put_field(",", native[i].phase[p].ticks), put("]"), flush(1);
        }
        put("]}");
    }
    put("]}");
}

void lock_sleep(volatile uint32_t *word, uint32_t value) {
    runtime_syscall(SYS_FUTEX, (long)word, FUTEX_WAIT_PRIVATE, value, 0, 0);
}

#ifdef LOCK_READS_TIME
void native_sleep_for(volatile uint32_t *word, uint64_t nanoseconds) {
    const struct {
        int64_t seconds, nanoseconds;
    } limit = {(int64_t)(nanoseconds / 1000000000), (int64_t)(nanoseconds % 1000000000)};
    runtime_syscall(SYS_FUTEX, (long)word, FUTEX_WAIT_PRIVATE, 0, (long)&limit, 0);
}
#endif

void lock_wake(volatile uint32_t *word) {
    runtime_syscall(SYS_FUTEX, (long)word, FUTEX_WAKE_PRIVATE, 1, 0, 0);
}

void lock_yield(void) { runtime_syscall(SYS_SCHED_YIELD, 0, 0, 0, 0, 0); }

#endif
