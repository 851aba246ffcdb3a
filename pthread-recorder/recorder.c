/*
 * Records the mutexes of the program that it is preloaded into: every lock, trylock, timedlock,
 * unlock and condition wait of pthreads and of C11 that goes through the C library's symbols. The
 * log: docs/interfaces.md, "The lock log".
 *
 * Each thread has a ring of records, which another process writes: writer.c, started before main.
 * It shares the program's memory and nothing else, so the program has no thread, no descriptor and
 * no child more than without. What runs in the program's own threads is here: it calls nothing of
 * any library but the function that was asked for, takes no lock and waits only where a ring is
 * full. So it may be entered anywhere: within an allocator, the loader, a signal handler, a thread
 * that is cancelled.
 *
 * The time of an acquisition is when the thread began to acquire: when it had the mutex follows
 * from when another thread gave it back. A release is told before it is made, so what the log holds
 * to be a section lies inside the real one.
 */
#include "places.h"
#include "shared.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>

#define EXPORTED __attribute__((visibility("default")))
#define OWN_TLS __attribute__((tls_model("initial-exec")))

enum { WRITER_STACK = 1 << 16, FIRST_KEYS = 32 };
enum { WAIT_ONCE = 100000 /* us */, PATIENCE = 100 /* such waits */ };

static state_t none; /* before the constructor, and where nothing is recorded */
state_t *state = &none;
_Atomic(uintptr_t) sites[SITES];
static int (*clock_gettime_)(clockid_t, struct timespec *);
static pthread_key_t key;
static bool has_key;
static __thread buffer_t *mine OWN_TLS;

/*
 * The functions of the C library. Until they are found, lock, trylock and unlock are glibc's own by
 * other names: an allocator that locks may be called by whoever looks them up. Nothing is looked up
 * that may be missing, since a failing dlsym allocates.
 */
extern int __pthread_mutex_lock(pthread_mutex_t *) __attribute__((weak));
extern int __pthread_mutex_trylock(pthread_mutex_t *) __attribute__((weak));
extern int __pthread_mutex_unlock(pthread_mutex_t *) __attribute__((weak));
extern int __clone(int (*)(void *), void *, int, void *, ...);

static void find_all(void);
#define FIRST(name, result, parameters, arguments)                                                 \
    static result first_##name parameters {                                                        \
        find_all();                                                                                \
        return real.name arguments;                                                                \
    }
#define FUNCTIONS(X)                                                                               \
    X(timedlock, int, (pthread_mutex_t * m, const struct timespec *t), (m, t))                     \
    X(clocklock, int, (pthread_mutex_t * m, clockid_t c, const struct timespec *t), (m, c, t))     \
    X(wait, int, (pthread_cond_t * c, pthread_mutex_t * m), (c, m))                                \
    X(timedwait, int, (pthread_cond_t * c, pthread_mutex_t * m, const struct timespec *t),         \
      (c, m, t))                                                                                   \
    X(clockwait, int,                                                                              \
      (pthread_cond_t * c, pthread_mutex_t * m, clockid_t k, const struct timespec *t),            \
      (c, m, k, t))                                                                                \
    X(mtx_lock, int, (mtx_t * m), (m))                                                             \
    X(mtx_trylock, int, (mtx_t * m), (m))                                                          \
    X(mtx_timedlock, int, (mtx_t * m, const struct timespec *t), (m, t))                           \
    X(mtx_unlock, int, (mtx_t * m), (m))                                                           \
    X(cnd_wait, int, (cnd_t * c, mtx_t * m), (c, m))                                               \
    X(cnd_timedwait, int, (cnd_t * c, mtx_t * m, const struct timespec *t), (c, m, t))             \
    X(dlopen, void *, (const char *f, int m), (f, m))                                              \
    X(dlclose, int, (void *h), (h))

static int first_lock(pthread_mutex_t *), first_trylock(pthread_mutex_t *),
    first_unlock(pthread_mutex_t *);
#define DECLARED(name, result, parameters, arguments) static result first_##name parameters;
FUNCTIONS(DECLARED)
#define MEMBER(name, result, parameters, arguments) result(*name) parameters;
#define INITIAL(name, result, parameters, arguments) .name = first_##name,
static struct {
    int (*lock)(pthread_mutex_t *), (*trylock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
    FUNCTIONS(MEMBER)
} real = {.lock = first_lock, .trylock = first_trylock, .unlock = first_unlock, FUNCTIONS(INITIAL)};
FUNCTIONS(FIRST)

static int first_lock(pthread_mutex_t *mutex) {
    if (__pthread_mutex_lock)
        return __pthread_mutex_lock(mutex);
    find_all();
    return real.lock(mutex);
}

static int first_trylock(pthread_mutex_t *mutex) {
    if (__pthread_mutex_trylock)
        return __pthread_mutex_trylock(mutex);
    find_all();
    return real.trylock(mutex);
}

static int first_unlock(pthread_mutex_t *mutex) {
    if (__pthread_mutex_unlock)
        return __pthread_mutex_unlock(mutex);
    find_all();
    return real.unlock(mutex);
}

/* Whether the C library is 2.`minor` or later. */
static bool since(int minor) {
    const char *version = gnu_get_libc_version();
    int found = 0;
    if (version[0] != '2' || version[1] != '.')
        return true;
    for (const char *one = version + 2; *one >= '0' && *one <= '9'; one++)
        found = found * 10 + (*one - '0');
    return found >= minor;
}

/* Condition variables have an older version on some machines, which a plain dlsym may find. */
static void *find_condition(const char *name) {
#if defined(__x86_64__) || defined(__s390x__) || (defined(__powerpc64__) && _CALL_ELF != 2)
    return dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
#else
    return dlsym(RTLD_NEXT, name);
#endif
}

static void find_all(void) {
#define FIND(name, value)                                                                          \
    do {                                                                                           \
        void *found_ = value;                                                                      \
        if (found_)                                                                                \
            __atomic_store_n((void **)&real.name, found_, __ATOMIC_RELEASE);                       \
    } while (0)
    FIND(unlock, dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
    FIND(trylock, dlsym(RTLD_NEXT, "pthread_mutex_trylock"));
    FIND(lock, dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    FIND(timedlock, dlsym(RTLD_NEXT, "pthread_mutex_timedlock"));
    FIND(wait, find_condition("pthread_cond_wait"));
    FIND(timedwait, find_condition("pthread_cond_timedwait"));
    if (since(30)) {
        FIND(clocklock, dlsym(RTLD_NEXT, "pthread_mutex_clocklock"));
        FIND(clockwait, dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
    }
    if (since(28)) {
        FIND(mtx_lock, dlsym(RTLD_NEXT, "mtx_lock"));
        FIND(mtx_trylock, dlsym(RTLD_NEXT, "mtx_trylock"));
        FIND(mtx_timedlock, dlsym(RTLD_NEXT, "mtx_timedlock"));
        FIND(mtx_unlock, dlsym(RTLD_NEXT, "mtx_unlock"));
        FIND(cnd_wait, dlsym(RTLD_NEXT, "cnd_wait"));
        FIND(cnd_timedwait, dlsym(RTLD_NEXT, "cnd_timedwait"));
    }
    FIND(dlopen, dlsym(RTLD_NEXT, "dlopen"));
    FIND(dlclose, dlsym(RTLD_NEXT, "dlclose"));
}

/* The kernel's own clock: the C library's may be another library's, which locks. */
uint64_t now(void) {
    struct timespec time;
    if (!clock_gettime_ || clock_gettime_(CLOCK_MONOTONIC, &time) != 0)
        sys(clock_gettime, CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Memory that a forked child finds empty; 0 where there is none. */
static void *pages(size_t size) {
    long got = sys(mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got < 0 && got > -4096)
        return 0;
    if (sys(madvise, got, size, MADV_WIPEONFORK) != 0) {
        sys(munmap, got, size);
        return 0;
    }
    return (void *)got;
}

static int start_writer(void *stack) {
    return __clone(writer, stack, CLONE_VM | CLONE_FILES | CLONE_UNTRACED, 0) > 0 ? 0 : errno;
}

/* The writer is no child of the program's, which might wait for it: its parent ends at once. A
 * program that is its container's first process would get it back, and can do so unseen only as the
 * parent that it is. */
static void start_process(char *stacks) {
    int kept = errno;
    if (state->process == 1) {
        if (start_writer(stacks + WRITER_STACK) != 0)
            atomic_store(&state->ready, 2);
    } else {
        int child =
            __clone(start_writer, stacks + 2 * WRITER_STACK,
                    CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_UNTRACED, stacks + WRITER_STACK);
        int status = 1;
        if (child < 0)
            atomic_store(&state->ready, 2);
        else if (sys(wait4, child, &status, __WALL, 0) == child && status != 0)
            atomic_store(&state->ready, 2);
    }
    errno = kept;
}

static const char *copied(const char *value, size_t *used) {
    const char *place = state->paths + *used;
    do {
        if (*used == sizeof state->paths)
            return 0;
        state->paths[(*used)++] = *value;
    } while (*value++);
    return place;
}

/* What follows `name` and `=` in an entry of the environment, if it is that one's. */
static const char *value_of(const char *entry, const char *name) {
    while (*name && *entry == *name)
        entry++, name++;
    return *name || *entry != '=' ? 0 : entry + 1;
}

static void ended(void *buffer) {
    buffer_t *own = buffer;
    /* What the destructors of other keys lock is still this thread's: it ends in the last round. */
    if (++own->endings < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, own);
        return;
    }
    mine = 0;
    atomic_store(&own->use, ENDED);
    if (atomic_fetch_add(&state->ended, 1) % 32 == 31)
        wake_writer();
}

/* The first of all constructors (-z initfirst): no thread is there, and the environment is as it
 * was given. */
__attribute__((constructor)) static void begin(int argc, char **argv, char **environment) {
    (void)argc, (void)argv;
    find_all();
    const char *log = 0, *report = 0, *most = 0;
    for (char **one = environment; one && *one; one++) {
        const char *value;
        if ((value = value_of(*one, "LOCKCROSS_PTHREAD_LOG")))
            log = value;
        else if ((value = value_of(*one, "LOCKCROSS_PTHREAD_REPORT")))
            report = value;
        else if ((value = value_of(*one, "LOCKCROSS_PTHREAD_MOST")))
            most = value;
    }
    state_t *shared = log ? pages(sizeof *shared) : 0;
    char *stacks = shared ? pages(2 * WRITER_STACK) : 0;
    if (!stacks)
        return;
    clock_gettime_ = (int (*)(clockid_t, struct timespec *))vdso_function(
        (const void *)getauxval(AT_SYSINFO_EHDR));
    state = shared;
    state->process = (int)sys(getpid);
    state->start = now();
    size_t used = 0;
    state->log = copied(log, &used);
    state->report = report ? copied(report, &used) : 0;
    for (state->most = 0; most && *most >= '0' && *most <= '9'; most++)
        state->most = state->most * 10 + (uint64_t)(*most - '0');
    if (!state->most)
        state->most = 2000000000;
    /* The first keys need no memory; a later one might call the program's allocator. */
    has_key = pthread_key_create(&key, ended) == 0 && key < FIRST_KEYS;
    uint64_t every = ~(uint64_t)0, before;
    sys(rt_sigprocmask, SIG_SETMASK, &every, &before, sizeof every);
    start_process(stacks);
    sys(rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
    for (int tries = 0; tries < PATIENCE && atomic_load(&state->ready) == 0; tries++)
        futex_wait(&state->ready, 0, WAIT_ONCE);
    if (atomic_load(&state->ready) == 1)
        atomic_store(&state->mode, RECORDING);
    else
        tell_of_no_writer();
}

/* Where exit comes to its end, the writer need not look ten times a second whether the process has
 * gone. */
__attribute__((destructor)) static void finish(void) {
    if (atomic_load(&state->mode) != OFF) {
        struct timespec used;
        if (sys(clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
            state->cpu = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
        atomic_store(&state->exiting, 1);
        wake_writer();
    }
}

static buffer_t *own_buffer(void) {
    buffer_t *own = atomic_load(&state->buffers);
    uint32_t use = FREE;
    while (own && !(atomic_load(&own->use) == FREE &&
                    atomic_compare_exchange_strong(&own->use, &use, IN_USE)))
        own = own->next, use = FREE;
    if (!own) {
        own = pages(sizeof *own);
        if (!own)
            return 0;
        own->id = atomic_fetch_add(&state->threads, 1) + 1;
        buffer_t *head = atomic_load(&state->buffers);
        do
            own->next = head;
        while (!atomic_compare_exchange_weak(&state->buffers, &head, own));
    } else {
        own->id = atomic_fetch_add(&state->threads, 1) + 1;
        own->endings = 0;
        own->last = 0;
    }
    mine = own;
    if (has_key)
        pthread_setspecific(key, own);
    return own;
}

/* The number of a place in the program; 0 where the table is full. */
static uint32_t site(void *address) {
    uintptr_t value = (uintptr_t)address;
    uint32_t place = (uint32_t)(value * 0x9e3779b97f4a7c15u >> 40) % SITES;
    for (uint32_t tries = 0; tries < SITES; tries++, place = (place + 1) % SITES) {
        uintptr_t there = atomic_load_explicit(&sites[place], memory_order_relaxed);
        if (there == value ||
            (there == 0 &&
             (atomic_compare_exchange_strong(&sites[place], &there, value) || there == value)))
            return place + 1;
    }
    return 0;
}

/* One instruction where a thread's own handler is all that could come between. */
static inline uint32_t claim(buffer_t *own) {
#ifdef __x86_64__
    uint32_t one = 1;
    __asm__ volatile("xaddl %0, %1" : "+r"(one), "+m"(own->head)::"memory", "cc");
    return one;
#else
    return __atomic_fetch_add(&own->head, 1, __ATOMIC_RELAXED);
#endif
}

/* Until the writer has made room. Where it is gone or does not come on for ten seconds, recording
 * ends, and this is false. */
static __attribute__((noinline)) bool wait_for_room(buffer_t *own, uint32_t index) {
    uint32_t tail, last = 0, tries = 0;
    while (index - (tail = atomic_load(&own->tail)) >= RECORDS) {
        if (atomic_load(&state->mode) == OFF)
            return false;
        tries = tail == last ? tries + 1 : 0, last = tail;
        atomic_store(&own->waits, 1);
        wake_writer();
        futex_wait(&own->tail, tail, WAIT_ONCE);
        if (tries > PATIENCE || (tries && sys(kill, state->writer, 0) == -ESRCH))
            atomic_store(&state->mode, OFF);
    }
    atomic_store(&own->waits, 0);
    return true;
}

static __attribute__((noinline)) void add(unsigned kind, uint64_t time, const void *object,
                                          void *address) {
    uint32_t mode = atomic_load_explicit(&state->mode, memory_order_relaxed);
    if (mode == OFF)
        return;
    buffer_t *own = mine ? mine : own_buffer();
    if (!own) {
        atomic_fetch_add(&state->lost, 1);
        return;
    }
    if (mode == COUNTING) {
        if ((kind & 15) == ACQUIRED)
            atomic_store_explicit(&own->counted,
                                  atomic_load_explicit(&own->counted, memory_order_relaxed) + 1,
                                  memory_order_relaxed);
        return;
    }
    uint32_t number = site(address), index = claim(own);
    uint32_t identity = (uint32_t)((uintptr_t)object * 0x9e3779b97f4a7c15u >> 33);
    time = time > state->start ? time - state->start : 0;
    /* No room; or a handler that came between has told so much that this one was passed over. */
    while (index - atomic_load_explicit(&own->tail, memory_order_acquire) >= RECORDS) {
        if ((int32_t)(index - atomic_load(&own->tail)) < 0)
            index = claim(own);
        else if (!wait_for_room(own, index))
            return;
    }
    own->last = time = time > own->last ? time : own->last + 1;
    record_t *record = &own->records[index % RECORDS];
    record->identity = identity;
    record->site = number;
    __atomic_store_n(&record->word, time << TIME_AT | stamp(index) << STAMP_AT | kind,
                     __ATOMIC_RELEASE);
    if (index % (RECORDS / 2) == 0)
        wake_writer();
}

static inline uint64_t begun(void) {
    return atomic_load_explicit(&state->mode, memory_order_relaxed) == RECORDING ? now() : 0;
}

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define RECORDED(call)                                                                             \
    uint64_t time = begun();                                                                       \
    int result = call;                                                                             \
    if (result == 0 || result == EOWNERDEAD)                                                       \
        add(ACQUIRED | BEGUN, time, mutex, CALLER);                                                \
    return result

EXPORTED int pthread_mutex_lock(pthread_mutex_t *mutex) { RECORDED(real.lock(mutex)); }

EXPORTED int pthread_mutex_trylock(pthread_mutex_t *mutex) { RECORDED(real.trylock(mutex)); }

EXPORTED int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    RECORDED(real.timedlock(mutex, until));
}

EXPORTED int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                     const struct timespec *until) {
    RECORDED(real.clocklock(mutex, clock, until));
}

/* thrd_success is 0, and no other result is EOWNERDEAD. */
EXPORTED int mtx_lock(mtx_t *mutex) { RECORDED(real.mtx_lock(mutex)); }

EXPORTED int mtx_trylock(mtx_t *mutex) { RECORDED(real.mtx_trylock(mutex)); }

EXPORTED int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until) {
    RECORDED(real.mtx_timedlock(mutex, until));
}

#define RELEASED(call)                                                                             \
    add(RELEASE, begun(), mutex, CALLER);                                                          \
    int result = call;                                                                             \
    if (result != 0)                                                                               \
        add(NOTHING_DONE, begun(), mutex, CALLER);                                                 \
    return result

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex) { RELEASED(real.unlock(mutex)); }

EXPORTED int mtx_unlock(mtx_t *mutex) { RELEASED(real.mtx_unlock(mutex)); }

typedef struct {
    void *mutex, *caller;
    int result;
} waiting_t;

/* Also where the thread is cancelled in its wait: it has the mutex then. A wait that was refused
 * was none. */
static void waited(waiting_t *waiting) {
    int result = waiting->result;
    bool refused = result == EPERM || result == EINVAL || result == thrd_error;
    add(refused ? NOTHING_DONE : WAITED, begun(), waiting->mutex, waiting->caller);
}

/* By the unwinder (-fexceptions), which leaves nothing behind where a handler jumps out. */
#define WAITING(call)                                                                              \
    waiting_t waiting __attribute__((cleanup(waited))) = {mutex, CALLER, 0};                       \
    add(WAIT, begun(), mutex, waiting.caller);                                                     \
    return waiting.result = call

EXPORTED int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    WAITING(real.wait(condition, mutex));
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                    const struct timespec *until) {
    WAITING(real.timedwait(condition, mutex, until));
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                    clockid_t clock, const struct timespec *until) {
    WAITING(real.clockwait(condition, mutex, clock, until));
}

EXPORTED int cnd_wait(cnd_t *condition, mtx_t *mutex) { WAITING(real.cnd_wait(condition, mutex)); }

EXPORTED int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                           const struct timespec *restrict until) {
    WAITING(real.cnd_timedwait(condition, mutex, until));
}

/* The C library looks at who has called, so this must end in a jump, as it does with -O2. What a
 * library that was opened so looks up, it finds in its own libraries first: not here. */
EXPORTED void *dlopen(const char *file, int mode) {
    if (mode & RTLD_DEEPBIND)
        atomic_store_explicit(&state->deep, 1, memory_order_relaxed);
    return real.dlopen(file, mode);
}

/* Until the writer has named all that was recorded so far, and forgotten the places of modules that
 * are gone. */
static void settle(void) {
    if (atomic_load(&state->mode) != RECORDING)
        return;
    uint32_t asked = atomic_fetch_add(&state->asked, 1) + 1, answered;
    for (int tries = 0;
         (int32_t)((answered = atomic_load(&state->answered)) - asked) < 0 && tries < PATIENCE / 10;
         tries++) {
        wake_writer();
        futex_wait(&state->answered, answered, WAIT_ONCE);
    }
}

/* Another module may be loaded where this one lay. */
EXPORTED int dlclose(void *handle) {
    settle();
    int result = real.dlclose(handle);
    settle();
    return result;
}
