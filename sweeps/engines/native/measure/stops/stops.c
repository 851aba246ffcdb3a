/* stops: what it takes a thread to stop another one on this host, by how it does it and by what the
 * other one, the owner of a reserved lock, does meanwhile.
 *
 *   stops MECHANISM STATE SAMPLES [CPU_OF_THE_REQUESTER CPU_OF_THE_OWNER]
 *
 * MECHANISM
 *   handshake   a word that the owner polls; the requester spins until it has answered
 *   mprotect    a page that the owner reads; the requester takes it away, and the fault's handler
 *               answers. A runtime whose polls are loads from a page does so
 *   signal      a signal, whose handler answers
 *   membarrier  a process-wide barrier of the kernel: it stops nobody, and no reservation that
 *               needs an answer can be cancelled by it; asymmetric locks need no more
 * STATE
 *   running     polls all the time
 *   unpolled    runs, and polls every 20 us
 *   blocked     reads from a pipe that stays empty
 *   parked      sleeps in a futex
 *   ended       has ended
 *
 * As in a runtime, an owner says so before it waits or ends, and then the requester need not wait
 * for its answer: a handshake is two accesses to memory, and mprotect its system call. A signal is
 * always waited for, but for an owner that has ended, of which the kernel says so.
 *
 * Prints a line of JSON: ns of SAMPLES stops, each timed by itself, less the least that reading the
 * clock takes twice. It needs nothing but a C compiler and Linux: cc -O2 -pthread stops.c */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE = 128,
    BETWEEN_POLLS_NS = 20000,
    ASLEEP_NS = 50000,
    APART_NS = 2000,
    CLOCK_READS = 999
};
enum mechanism { HANDSHAKE, MPROTECT, SIGNAL, MEMBARRIER };
enum state { RUNNING, UNPOLLED, BLOCKED, PARKED, ENDED };
static const char *const mechanisms[] = {"handshake", "mprotect", "signal", "membarrier", 0};
static const char *const states[] = {"running", "unpolled", "blocked", "parked", "ended", 0};

static enum mechanism mechanism;
static enum state state;
static int owner_cpu = -1;
static int empty_pipe[2];
static volatile char *page;
/* What one thread writes and the other reads lies alone in its line. */
static struct {
    atomic_int value;
    char rest[LINE - sizeof(atomic_int)];
} asked, stopped, answers, finished, thread_id, never;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static long futex(atomic_int *word, int operation, int value) {
    return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

static void spin(int64_t ns) {
    for (int64_t end = now() + ns; now() < end;)
        relax();
}

static void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof set, &set) != 0)
        fail("sched_setaffinity");
}

/* The owner stays until the requester lets it go on. */
static void answer(void) {
    do {
        atomic_store(&stopped.value, 1);
        while (atomic_load(&asked.value))
            relax();
        atomic_store(&stopped.value, 0);
    } while (atomic_load(&asked.value)); /* asked again before it said that it goes on */
}

/* For a signal; a fault comes here, too, and then repeats its load. */
static void handler(int number) {
    if (number == SIGSEGV)
        answer();
    else
        atomic_fetch_add(&answers.value, 1);
}

static void poll_once(void) {
    if (mechanism == HANDSHAKE && atomic_load_explicit(&asked.value, memory_order_relaxed))
        answer();
    else if (mechanism == MPROTECT)
        (void)*page;
}

static void wait_in_kernel(void) {
    char byte;
    atomic_store(&stopped.value, 1);
    while (!atomic_load(&finished.value)) {
        if (state == BLOCKED
                ? read(empty_pipe[0], &byte, 1) < 0 && errno != EINTR
                : futex(&never.value, FUTEX_WAIT, 0) != 0 && errno != EINTR && errno != EAGAIN)
            fail(states[state]);
    }
}

static void *own(void *unused) {
    bind_to(owner_cpu);
    atomic_store(&thread_id.value, (int)syscall(SYS_gettid));
    if (state == BLOCKED || state == PARKED)
        wait_in_kernel();
    while (!atomic_load_explicit(&finished.value, memory_order_relaxed) && state != ENDED) {
        if (state == UNPOLLED)
            spin(BETWEEN_POLLS_NS);
        poll_once();
    }
    atomic_store(&stopped.value, 1);
    return unused;
}

static void await(const atomic_int *word, int value) {
    while (atomic_load_explicit((atomic_int *)word, memory_order_acquire) != value)
        relax();
}

/* Returns when the owner has stopped. */
static void stop(int owner) {
    int answered = atomic_load(&answers.value);
    switch (mechanism) {
    case HANDSHAKE:
        atomic_store(&asked.value, 1);
        await(&stopped.value, 1);
        break;
    case MPROTECT:
        atomic_store(&asked.value, 1);
        if (mprotect((void *)page, 1, PROT_NONE) != 0)
            fail("mprotect");
        await(&stopped.value, 1);
        break;
    case SIGNAL:
        if (syscall(SYS_tgkill, getpid(), owner, SIGUSR1) == 0)
            await(&answers.value, answered + 1);
        else if (state != ENDED)
            fail("tgkill");
        break;
    case MEMBARRIER:
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
            fail("membarrier");
        break;
    }
}

/* An owner that runs is met anywhere in its loop, and one that waits asleep. */
static void go_on(void) {
    bool waits = state == BLOCKED || state == PARKED || state == ENDED;
    if (mechanism == MPROTECT && mprotect((void *)page, 1, PROT_READ) != 0)
        fail("mprotect");
    atomic_store(&asked.value, 0);
    if (!waits)
        await(&stopped.value, 0);
    static uint64_t random = UINT64_C(88172645463325252);
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    int64_t apart = state == UNPOLLED ? 2 * BETWEEN_POLLS_NS : APART_NS;
    spin(waits && state != ENDED ? ASLEEP_NS : APART_NS + (int64_t)(random % (uint64_t)apart));
}

static int ascending(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static int64_t least_of_clock(void) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < CLOCK_READS; i++) {
        int64_t begin = now(), taken = now() - begin;
        least = taken < least ? taken : least;
    }
    return least;
}

static int place_of(const char *word, const char *const words[]) {
    for (int i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    fprintf(stderr, "%s: unknown\n", word);
    exit(2);
}

static void print(int64_t *ns, long samples) {
    int64_t clock = least_of_clock(), sum = 0;
    for (long i = 0; i < samples; i++) {
        ns[i] = ns[i] > clock ? ns[i] - clock : 0;
        sum += ns[i];
    }
    qsort(ns, (size_t)samples, sizeof *ns, ascending);
    printf("{\"mechanism\": \"%s\", \"state\": \"%s\", \"samples\": %ld, \"least\": %ld, "
           "\"quarter\": %ld, \"median\": %ld, \"three_quarters\": %ld, \"percentile_99\": %ld, "
           "\"mean\": %ld}\n",
           mechanisms[mechanism], states[state], samples, (long)ns[0], (long)ns[samples / 4],
           (long)ns[samples / 2], (long)ns[samples * 3 / 4], (long)ns[samples * 99 / 100],
           (long)(sum / samples));
}

int main(int count, char **words) {
    long samples = count == 4 || count == 6 ? strtol(words[3], 0, 10) : 0;
    if (samples < 1) {
        fprintf(stderr, "stops MECHANISM STATE SAMPLES [CPU_OF_THE_REQUESTER CPU_OF_THE_OWNER]\n");
        return 2;
    }
    mechanism = (enum mechanism)place_of(words[1], mechanisms);
    state = (enum state)place_of(words[2], states);
    if (count == 6) {
        bind_to((int)strtol(words[4], 0, 10));
        owner_cpu = (int)strtol(words[5], 0, 10);
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    void *mapped =
        mmap(0, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page = mapped;
    if (mapped == MAP_FAILED || pipe(empty_pipe) != 0 || sigaction(SIGUSR1, &action, 0) != 0 ||
        sigaction(SIGSEGV, &action, 0) != 0)
        fail("set-up");
    if (mechanism == MEMBARRIER &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
        fail("membarrier");
    pthread_t owner;
    if (pthread_create(&owner, 0, own, 0) != 0)
        fail("pthread_create");
    while (atomic_load(&thread_id.value) == 0)
        relax();
    bool waits = state == BLOCKED || state == PARKED || state == ENDED;
    if (waits)
        await(&stopped.value, 1);
    if (state == ENDED)
        pthread_join(owner, 0);
    int64_t *ns = malloc((size_t)samples * sizeof *ns);
    long unmeasured = samples / 10; /* until caches and predictors know it */
    for (long i = -unmeasured; i < samples; i++) {
        int64_t begin = now();
        stop(thread_id.value);
        int64_t taken = now() - begin;
        if (i >= 0)
            ns[i] = taken;
        go_on();
    }
    atomic_store(&finished.value, 1);
    if (state == BLOCKED && write(empty_pipe[1], "", 1) != 1)
        fail("write");
    if (state == PARKED) {
        atomic_store(&never.value, 1);
        futex(&never.value, FUTEX_WAKE, 1);
    }
    if (state != ENDED)
        pthread_join(owner, 0);
    print(ns, samples);
    return 0;
}
