/* Arguments, threads, the region of interest, the result line: see runtime.h. */
#define LOCKCROSS_STORAGE
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/m5.h"
#include "lock.h"
#include "monitor/handshake.h"
#include "monitor/processor.h"
#include "registry.h"
#include "runtime/host.h"
#include "runtime/layout.h"
#include "runtime/marker.h"
#include "runtime/runtime.h"
#ifdef LOCKCROSS_SCHEDULER
#include "runtime/scheduler.h"
#endif

/* In start_<isa>.S */
long runtime_clone(unsigned long flags, void *stack_top, unsigned thread);
/* Called from there */
_Noreturn void runtime_main(long *stack);
_Noreturn void runtime_thread(unsigned thread);

#if defined(__x86_64__)
enum { SYS_WRITE = 1, SYS_EXIT = 60, SYS_EXIT_GROUP = 231 };
#elif defined(__powerpc64__)
enum { SYS_WRITE = 4, SYS_EXIT = 1, SYS_EXIT_GROUP = 234 };
#else
enum { SYS_WRITE = 64, SYS_EXIT = 93, SYS_EXIT_GROUP = 94 };
#endif

/* CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM: the flags by which QEMU's user mode recognizes a
 * thread. */
#define CLONE_FLAGS 0x50f00

char runtime_stacks[LOCK_MAX_THREADS][RUNTIME_STACK_SIZE] __attribute__((aligned(LOCK_LINE)));
_Static_assert(RUNTIME_STACK_SIZE % LOCK_LINE == 0, "every stack has to end where a line does");
unsigned runtime_threads;
uint64_t runtime_seed;

/* How an engine learns of the region of interest (docs/interfaces.md, section 4: `marker`). */
static enum { SILENT, SYSCALL, WATCH, M5 } announce;
static struct {
    uint64_t pairs;
} __attribute__((aligned(LOCK_LINE))) done[LOCK_MAX_THREADS];
static uint64_t ticks; /* of thread 0 in the region of interest */

/* Text output -------------------------------------------------------------------------------- */

static struct {
    char bytes[512];
    unsigned length;
} text;

static void put(const char *s) {
    while (*s && text.length < sizeof text.bytes)
        text.bytes[text.length++] = *s++;
}

static void put_number(uint64_t value) {
    char digits[21];
    char *p = digits + sizeof digits - 1;
    *p = 0;
    do
        *--p = '0' + value % 10;
    while (value /= 10);
    put(p);
}

static void flush(int file) {
    runtime_syscall(SYS_WRITE, file, (long)text.bytes, text.length, 0, 0);
    text.length = 0;
}

static _Noreturn void leave(int code) {
    for (;;)
        runtime_syscall(SYS_EXIT_GROUP, code, 0, 0, 0, 0);
}

#ifdef LOCKCROSS_SCHEDULER
static scheduler_settings_t scheduling;

#define HOST_THREADS scheduling.cores
static void put_cores(void) { put(",\"cores\":"), put_number(scheduling.cores); }
#else
#define HOST_THREADS runtime_threads
static void put_cores(void) {}
#endif

#ifdef LOCKCROSS_NATIVE
static void put_native(void);
#else
static void put_native(void) {}
#endif

#ifdef LOCKCROSS_EXTRAS
static void put_extras(void) {
    put(",\"extra\":{");
    for (const runtime_extra_t *extra = runtime_extras; extra->name; extra++) {
        put(extra == runtime_extras ? "\"" : ",\""), put(extra->name), put("\":");
        put_number(extra->value);
    }
    put("}");
}
#else
static void put_extras(void) {}
#endif

/* Prints the result line (docs/interfaces.md, section 4). `error`: NULL for a run that verified. */
static void put_result(uint64_t pairs, const char *error) {
    static const char *const fences[] = {
        [FENCE_FULL] = "full",
        [FENCE_RMW] = "rmw",
        [FENCE_STORE_FORWARD] = "store_forward",
#if FENCE_IS_ASYMMETRIC /* no other program changes by it */
        [FENCE_MEMBARRIER] = "membarrier",
#elif LOCKCROSS_FENCE == FENCE_LOCK_ADD
        [FENCE_LOCK_ADD] = "lock_add",
#endif
    };
    put("{\"workload\":\""), put(workload.name);
    put("\",\"lock\":\"" LOCK_TEXT(LOCKCROSS_LOCK) "\",\"isa\":\"" LOCKCROSS_ISA
                                                   "\",\"flavour\":\"" LOCKCROSS_FLAVOUR
                                                   "\",\"fence\":\"");
    put(fences[LOCKCROSS_FENCE]);
    put("\",\"threads\":"), put_number(runtime_threads);
    put_cores();
    put(",\"pairs\":"), put_number(pairs);
    put(error ? ",\"ok\":false,\"error\":\"" : ",\"ok\":true,\"error\":\"");
    put(error ? error : "");
    put("\",\"ticks\":"), put_number(ticks);
    put_extras();
    put_native();
    put("}\n");
    flush(1);
}

/* Exit code 1: a failed run. The first thread to come here ends the program. */
_Noreturn void lock_fatal(const char *message) {
    static volatile uint32_t taken;
    if (fetch_add_acq_rel_u32(&taken, 1) == 0) {
        put_result(0, message);
        leave(1);
    }
    for (;;)
        cpu_relax();
}

/* Arguments ---------------------------------------------------------------------------------- */

static _Noreturn void bad_argument(const char *argument, const char *why) {
    put(workload.name), put(": "), put(argument), put(": "), put(why), put("\n");
    flush(2);
    leave(2);
}

/* What follows the equals sign if `argument` is "name=..."; else NULL. */
static const char *value_of(const char *argument, const char *name) {
    while (*name && *argument == *name)
        argument++, name++;
    return *name == 0 && *argument == '=' ? argument + 1 : 0;
}

static bool equal(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

#ifdef LOCKCROSS_TEXT_KEYS
const char *const runtime_text[] = {0};

static bool is_text(const char *const *choices) { return choices == runtime_text; }
#else
static bool is_text(const char *const *choices) { return (void)choices, false; }
#endif

static uint64_t choice(const char *argument, const char *s, const char *const *choices) {
    if (is_text(choices))
        return (uintptr_t)s;
    for (unsigned i = 0; choices[i]; i++) {
        if (equal(s, choices[i]))
            return i;
    }
    bad_argument(argument, "not one of the allowed words");
}

static uint64_t number(const char *argument, const char *s, uint64_t low, uint64_t high) {
    uint64_t value = 0;
    if (*s == 0)
        bad_argument(argument, "the value is missing");
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            bad_argument(argument, "not a whole number");
        if (value > (UINT64_MAX - 9) / 10)
            bad_argument(argument, "too large");
        value = value * 10 + (uint64_t)(*s - '0');
    }
    if (value < low)
        bad_argument(argument, "too small");
    if (value > high)
        bad_argument(argument, "too large");
    return value;
}

#if LATENCY_ADDED
latency_amounts_t latency_amounts;

#define LATENCY_KEY(name) {"latency_" name, 0, UINT32_MAX, 0, true, 0}
static runtime_key_t latency_keys[] = {
    LATENCY_KEY("atomic"),       LATENCY_KEY("fence"),      LATENCY_KEY("stop_running"),
    LATENCY_KEY("park"),         LATENCY_KEY("unpark"),     LATENCY_KEY("wake"),
    LATENCY_KEY("stop_blocked"), LATENCY_KEY("stop_ended"), RUNTIME_KEYS_END,
};

static void set_latencies(void) {
    latency_amounts.atomic = latency_keys[0].value;
    latency_amounts.fence = latency_keys[1].value;
    for (unsigned kind = CHARGE_STOP; kind <= CHARGE_WAKE; kind++)
        latency_amounts.charge[kind] = latency_keys[2 + kind].value;
    latency_amounts.charge[CHARGE_STOP_BLOCKED] = latency_keys[6].value;
    latency_amounts.charge[CHARGE_STOP_ENDED] = latency_keys[7].value;
}
#else
static runtime_key_t latency_keys[] = {RUNTIME_KEYS_END};

static void set_latencies(void) {}
#endif

#ifdef LOCKCROSS_SCHEDULER
#define WORKLOAD_SCHEDULER
#define WORD(word) WORD_##word,
#define CHOICE(key, presence, default, words) enum { words };
#include "workloads.def"
#undef WORD

static runtime_key_t scheduler_keys[] = {
    {"cores", 1, LOCK_MAX_THREADS, 0, true, 1},
#define WORD(word) #word,
#define NUMBER(key, presence, default, low, high) RUNTIME_NUMBER(key, presence(default), low, high),
#define CHOICE(key, presence, default, words)                                                      \
    RUNTIME_CHOICE(key, presence(WORD_##default), ((const char *const[]){words 0})),
#include "workloads.def"
#undef WORD
    RUNTIME_KEYS_END,
};

unsigned processor_count(void) { return scheduling.cores; }

static void set_scheduling(void) {
    scheduling = (scheduler_settings_t){runtime_threads, (unsigned)scheduler_keys[0].value,
                                        scheduler_keys[1].value, scheduler_keys[2].value != 0,
                                        announce == SYSCALL};
    if (scheduling.cores > runtime_threads)
        bad_argument("cores", "more than threads");
    if (announce != SYSCALL && announce != SILENT)
        bad_argument("marker", "none or syscall, where threads share cores");
}
#else
static void set_scheduling(void) {}
#endif

#ifdef LOCKCROSS_NATIVE
#include "runtime/native.h"
#else
static inline void native_setup(void) {}
static inline void native_phase(const lock_thread_t *self, uint64_t phase) {
    (void)self, (void)phase;
}
#endif

#ifdef LOCK_READS_TIME
#include "runtime/clock.h"
#endif

static void parse(char **arguments) {
    static const char *const marker_choices[] = {"none", "syscall", "watch",
                                                 LOCKCROSS_HAS_M5 ? "m5" : 0, 0};
    static runtime_key_t common[] = {
        {"threads", 1, LOCK_MAX_THREADS, 0, true, 1},
        {"seed", 0, UINT64_MAX, 0, true, 1},
        {"marker", 0, 0, marker_choices, true, 0},
        RUNTIME_KEYS_END,
    };
    runtime_key_t *const lists[] = {
        common,         workload.keys, latency_keys,
#ifdef LOCKCROSS_NATIVE
        native_keys,
#endif
#ifdef LOCK_READS_TIME
        clock_keys,
#endif
#ifdef LOCKCROSS_SCHEDULER
        scheduler_keys,
#endif
    };
    for (; *arguments; arguments++) {
        bool known = false;
        for (unsigned list = 0; list < sizeof lists / sizeof *lists; list++) {
            for (runtime_key_t *key = lists[list]; key->name; key++) {
                const char *s = value_of(*arguments, key->name);
                if (!s)
                    continue;
                key->value = key->choices ? choice(*arguments, s, key->choices)
                                          : number(*arguments, s, key->low, key->high);
                key->optional = known = true;
            }
        }
        if (!known)
            bad_argument(*arguments, "unknown key");
    }
    for (runtime_key_t *key = workload.keys; key->name; key++) {
        if (!key->optional)
            bad_argument(key->name, "must be given");
    }
    runtime_threads = (unsigned)common[0].value;
    runtime_seed = common[1].value;
    announce = common[2].value;
    set_latencies();
    if (runtime_threads < workload.min_threads || runtime_threads > workload.max_threads)
        bad_argument("threads", "this workload does not run with that many");
    set_scheduling();
    native_setup();
}

/* Threads ------------------------------------------------------------------------------------ */

#ifdef LOCK_SIGNALS
#include "runtime/signals.h"
#else
static inline __attribute__((unused)) void signals_start(void) {}
static inline __attribute__((unused)) void signals_begin(lock_thread_t *self) { (void)self; }
static inline __attribute__((unused)) void signals_end(lock_thread_t *self) { (void)self; }
#endif

#if FENCE_IS_ASYMMETRIC
#include "runtime/process_barrier.h"
#else
static inline void process_barrier_start(void) {}
#endif

static void marker(const lock_thread_t *self, int op, long a2, long a3, long a4) {
    if (announce == SYSCALL)
        runtime_syscall(SYS_MARKER, op, runtime_index(self), a2, a3, a4);
}

#ifdef LOCKCROSS_EVENTS
void lock_note_event(unsigned index, unsigned event, const lock_object_t *obj) {
    if (announce == SYSCALL)
        runtime_syscall(SYS_MARKER, MARKER_EVENT, index, event, (long)obj, 0);
}
#endif

/* These three functions are also places in the program: an engine may watch for their addresses. */

#ifndef LOCKCROSS_SCHEDULER
RUNTIME_OPAQUE static void runtime_region_begin(const lock_thread_t *self) {
    marker(self, MARKER_BEGIN, runtime_threads, (long)__executable_start, (long)_end);
#if LOCKCROSS_HAS_M5
    if (announce == M5)
        m5_work_begin(runtime_index(self), runtime_index(self));
#endif
}
#endif

RUNTIME_OPAQUE void runtime_phase(lock_thread_t *self, uint64_t phase) {
    native_phase(self, phase);
    marker(self, MARKER_PHASE, (long)phase, 0, 0);
#if LOCKCROSS_HAS_M5
    if (announce == M5)
        m5_work_begin(phase << 8 | runtime_index(self), runtime_index(self));
#endif
}

#ifndef LOCKCROSS_SCHEDULER
RUNTIME_OPAQUE static void runtime_region_end(const lock_thread_t *self) {
    marker(self, MARKER_END, 0, 0, 0);
#if LOCKCROSS_HAS_M5
    if (announce == M5)
        m5_work_end(runtime_index(self), runtime_index(self));
#endif
}
#endif

void runtime_barrier(lock_thread_t *self) {
    static struct {
        __attribute__((aligned(LOCK_LINE))) volatile uint32_t arrived;
        __attribute__((aligned(LOCK_LINE))) volatile uint32_t round;
    } barrier;
    handshake_enter_safe(self);
    uint32_t round = load_rlx_u32(&barrier.round);
    if (fetch_add_acq_rel_u32(&barrier.arrived, 1) == runtime_threads - 1) {
        store_rlx_u32(&barrier.arrived, 0);
        store_rel_u32(&barrier.round, round + 1);
    } else {
        while (load_acq_u32(&barrier.round) == round)
            spin_wait(self);
    }
    handshake_leave_safe(self);
}

/* From now on `self` is stopped for what stopping a thread takes that is not there any more. */
static void end(lock_thread_t *self) { store_rel_u32(&self->state, HANDSHAKE_ENDED); }

#ifdef LOCKCROSS_SCHEDULER

/* It ends SAFE, as participate() does. */
void runtime_scheduled_thread(lock_thread_t *self) {
    handshake_leave_safe(self);
    workload.prepare(self);
    handshake_enter_safe(self);
    scheduler_stop(self);
    handshake_leave_safe(self);
    done[runtime_index(self)].pairs = workload.run(self);
    end(self);
    scheduler_stop(self);
}

static void prepare_carriers(void) { scheduler_setup(&scheduling); }

static void carry(unsigned core) {
    native_begin(core);
    uint64_t passed = scheduler_carry(core);
    if (core == 0)
        ticks = passed;
}

#else

/* A barrier outside the region of interest: the engine's, if there is one, which costs nothing. */
static void meet(lock_thread_t *self) {
    if (announce != SYSCALL) {
        runtime_barrier(self);
        return;
    }
    handshake_enter_safe(self);
    marker(self, MARKER_MEET, runtime_threads, 0, 0);
    handshake_leave_safe(self);
}

/* The work of every thread. It ends SAFE: others may still cancel what is reserved for it. */
static void participate(lock_thread_t *self) {
    handshake_leave_safe(self);
    native_begin(runtime_index(self));
    signals_begin(self);
    workload.prepare(self);
    meet(self);
#ifdef LOCKCROSS_NATIVE
    native_before(runtime_index(self));
    meet(self);
    if (runtime_threads > 1)
        native_hand_round(runtime_index(self), false);
#endif
    /* In a simulator the host's counter means nothing, and reading it may end the run. */
    bool timed = announce == SILENT && runtime_index(self) == 0;
    uint64_t start = timed ? read_ticks() : 0;
    runtime_region_begin(self);
    native_enter(runtime_index(self));
    uint64_t pairs = workload.run(self);
    end(self);
    native_leave(runtime_index(self));
    runtime_region_end(self);
    if (timed)
        ticks = read_ticks() - start;
    done[runtime_index(self)].pairs = pairs;
    handshake_leave_safe(self);
    meet(self);
#ifdef LOCKCROSS_NATIVE
    if (runtime_threads > 1)
        native_hand_round(runtime_index(self), true);
#endif
    signals_end(self);
    handshake_enter_safe(self);
}

static void prepare_carriers(void) {
    if (announce == SILENT)
        signals_start();
}

static void carry(unsigned thread) { participate(&lock_threads[thread]); }

#endif

/* A host thread: one for each thread, or for each core that threads share. */
_Noreturn void runtime_thread(unsigned thread) {
    carry(thread);
    for (;;)
        runtime_syscall(SYS_EXIT, 0, 0, 0, 0, 0);
}

_Noreturn void runtime_main(long *stack) {
    parse((char **)stack + 2); /* the words after argc and the program's name */
    const char *refused = workload.setup();
    if (refused)
        bad_argument("arguments", refused);
    for (unsigned i = 0; i < runtime_threads; i++)
        lock_thread_init(&lock_threads[i], i);
    lock_processors_init(HOST_THREADS);
    if (announce == SILENT)
        process_barrier_start();
    prepare_carriers();
    /* The bound is not kept in a local variable: that would move the stack frames of thread 0,
     * which lie below this one, across a cache line (tests/workloads/test_frames.py). */
    for (unsigned i = 1; i < HOST_THREADS; i++) {
        if (runtime_clone(CLONE_FLAGS, runtime_stacks[i] + RUNTIME_STACK_SIZE, i) < 0)
            lock_fatal("a thread could not be created");
    }
    carry(0);
    uint64_t pairs = 0;
    for (unsigned i = 0; i < runtime_threads; i++)
        pairs += done[i].pairs;
    const char *error = workload.verify(pairs);
    put_result(pairs, error);
    leave(error ? 1 : 0);
}
