/*
 * Records the pthread mutexes of the program that it is preloaded into: every lock, trylock,
 * timedlock, unlock and condition wait that goes through the C library's symbols. The log:
 * docs/interfaces.md, "The lock log".
 *
 * Each thread has a buffer of records. A thread of ours writes what the buffers have so far ten
 * times a second and marks the log, so that it can be read after kill -9; a thread whose buffer is
 * full writes it itself. The log is opened by the first event: programs that lock nothing, such as
 * a shell that starts another, leave none.
 *
 * The time of an acquisition is when the thread began to acquire: when it had the mutex follows
 * from when another thread gave it back. A release is told before it is made, so what the log holds
 * to be a section lies inside the real one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ACQUIRED = 2, RELEASE = 3, WAIT = 4, WAITED = 5, NOTHING_DONE = 8, BEGUN = 1 << 4 };
enum { RECORDS = 8192, SITES = 1 << 14, IDENTITY_BITS = 31, MARKS_A_SECOND = 10 };

typedef struct {
    uint64_t word;
    uint32_t identity, site;
} record_t;

typedef struct buffer {
    struct buffer *next;     /* of all that ever were */
    atomic_flag writing;     /* whoever writes it, its own thread or ours */
    _Atomic bool free;       /* its thread has ended */
    uint32_t id;             /* of the thread, in the log */
    uint32_t written;        /* records that are in the log */
    _Atomic uint32_t count;  /* records that are whole */
    uint64_t last, acquired; /* the time of the last one; acquisitions in the log or here */
    record_t records[RECORDS];
} buffer_t;

static _Atomic(buffer_t *) buffers;
static atomic_uint threads;
static atomic_bool recording;
static _Atomic(uintptr_t) sites[SITES];
static atomic_flag file_busy = ATOMIC_FLAG_INIT;
static int file = -1;
static uint64_t size, most = 2000000000, start, gone; /* gone: acquisitions of threads that ended */
static const char *end = "exit";
static char path[4096];
static pthread_key_t key;
static pthread_once_t opened = PTHREAD_ONCE_INIT;
static pid_t process;
static __thread buffer_t *mine __attribute__((tls_model("initial-exec")));
static __thread bool inside __attribute__((tls_model("initial-exec")));

static struct {
    int (*lock)(pthread_mutex_t *), (*trylock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
    int (*timedlock)(pthread_mutex_t *, const struct timespec *);
    int (*clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
} real;

/* The C library's own function. Condition variables have an older version on x86-64, which a plain
 * dlsym may find. */
static void *find(const char *name) {
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void resolve(void) {
    if (real.lock)
        return;
    inside = true;
    *(void **)&real.unlock = find("pthread_mutex_unlock");
    *(void **)&real.trylock = find("pthread_mutex_trylock");
    *(void **)&real.timedlock = find("pthread_mutex_timedlock");
    *(void **)&real.clocklock = find("pthread_mutex_clocklock");
    *(void **)&real.wait = find("pthread_cond_wait");
    *(void **)&real.timedwait = find("pthread_cond_timedwait");
    *(void **)&real.clockwait = find("pthread_cond_clockwait");
    *(void **)&real.lock = find("pthread_mutex_lock"); /* the last */
    inside = false;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void take(atomic_flag *flag) {
    while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire))
        sched_yield();
}

static void give(atomic_flag *flag) { atomic_flag_clear_explicit(flag, memory_order_release); }

static bool put(const void *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t count = write(file, (const char *)bytes + done, length - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

/* A block, whole: where the disk is full, what was written of it is taken away, and recording ends.
 * So it does at the size limit; what buffers have by then still comes. */
static void block(const char *tag, uint32_t id, const void *bytes, size_t length) {
    char head[16];
    uint64_t follows = length;
    memcpy(head, tag, 4);
    memcpy(head + 4, &id, 4);
    memcpy(head + 8, &follows, 8);
    take(&file_busy);
    if (put(head, sizeof head) && put(bytes, length)) {
        size += sizeof head + length;
        if (size >= most && atomic_exchange(&recording, false))
            end = "limit";
    } else {
        if (ftruncate(file, (off_t)size) == 0)
            lseek(file, (off_t)size, SEEK_SET);
        atomic_store(&recording, false);
        end = "disk";
    }
    give(&file_busy);
}

static void text(const char *tag, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < sizeof line)
        block(tag, 0, line, (size_t)length);
}

static void flush(buffer_t *buffer, bool anew) {
    take(&buffer->writing);
    uint32_t count = atomic_load_explicit(&buffer->count, memory_order_acquire);
    if (count > buffer->written)
        block("EVTS", buffer->id, buffer->records + buffer->written,
              (count - buffer->written) * sizeof(record_t));
    buffer->written = count;
    if (anew) {
        buffer->written = 0;
        atomic_store_explicit(&buffer->count, 0, memory_order_release);
    }
    give(&buffer->writing);
}

static void flush_all(void) {
    for (buffer_t *one = atomic_load(&buffers); one; one = one->next)
        flush(one, false);
}

static void *write_on(void *unused) {
    (void)unused;
    inside = true;
    const struct timespec pause = {.tv_nsec = 1000000000 / MARKS_A_SECOND};
    for (;;) {
        nanosleep(&pause, 0);
        uint64_t mark = now() - start;
        flush_all();
        block("MARK", 0, &mark, sizeof mark);
        if (!atomic_load(&recording))
            return 0;
    }
}

static void ended(void *buffer) {
    buffer_t *own = buffer;
    flush(own, true);
    __atomic_fetch_add(&gone, own->acquired, __ATOMIC_RELAXED);
    own->acquired = 0;
    mine = 0;
    atomic_store_explicit(&own->free, true, memory_order_release);
}

static void in_child(void) { atomic_store(&recording, false), file = -1; }

static void begin(void) {
    const char *wanted = getenv("LOCKCROSS_PTHREAD_LOG"), *bytes = getenv("LOCKCROSS_PTHREAD_MOST");
    if (!wanted)
        return;
    if (bytes)
        most = strtoull(bytes, 0, 10);
    process = getpid();
    snprintf(path, sizeof path, "%s", wanted);
    file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) {
        snprintf(path, sizeof path, "%s.%d", wanted, process);
        file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    }
    if (file < 0) {
        fprintf(stderr, "lockcross: %s: %s; nothing is recorded\n", path, strerror(errno));
        return;
    }
    start = now();
    pthread_key_create(&key, ended);
    pthread_atfork(0, 0, in_child);
    const char head[16] = {'L', 'C', 'E', 'V', 'E', 'N', 'T', 'S', 2};
    if (put(head, sizeof head))
        size = sizeof head;
    atomic_store(&recording, true);
    text("TEXT", "{\"log\": \"pthread\", \"clock_mhz\": 1000, \"identity_bits\": %d}\n",
         IDENTITY_BITS);
    pthread_t writer;
    if (pthread_create(&writer, 0, write_on, 0) == 0)
        pthread_detach(writer);
}

static buffer_t *own_buffer(void) {
    buffer_t *own = atomic_load(&buffers);
    bool taken = true;
    while (own &&
           !(atomic_load(&own->free) && atomic_compare_exchange_strong(&own->free, &taken, 0)))
        own = own->next, taken = true;
    if (!own) {
        own = mmap(0, sizeof *own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (own == MAP_FAILED)
            return 0;
        buffer_t *head = atomic_load(&buffers);
        do
            own->next = head;
        while (!atomic_compare_exchange_weak(&buffers, &head, own));
    }
    own->id = atomic_fetch_add(&threads, 1) + 1;
    own->last = 0;
    mine = own;
    pthread_setspecific(key, own);
    return own;
}

/* Words of a name, as they may stand in JSON. */
static const char *plain(char *to, size_t room, const char *from) {
    size_t length = 0;
    for (; from && *from && length + 1 < room; from++)
        if (*from != '"' && *from != '\\' && (unsigned char)*from >= ' ')
            to[length++] = *from;
    to[length] = 0;
    return to;
}

static void tell_site(uint32_t number, const char *address, const char *what) {
    Dl_info found = {0};
    char module[256], name[256], place[320];
    bool known = dladdr(address, &found) != 0;
    const char *slash = known ? strrchr(found.dli_fname, '/') : 0;
    plain(module, sizeof module, slash ? slash + 1 : known ? found.dli_fname : "?");
    plain(name, sizeof name, known ? found.dli_sname : 0);
    if (*name)
        snprintf(place, sizeof place, "%s+0x%zx", name,
                 (size_t)(address - (const char *)found.dli_saddr));
    else
        snprintf(place, sizeof place, "0x%zx",
                 (size_t)(known ? address - (const char *)found.dli_fbase : address - (char *)0));
    text("TEXT",
         "{\"site\": %u, \"class\": \"%s\", \"method\": \"%s\", \"file\": \"%s\", \"line\": 0, "
         "\"what\": \"%s\", \"jdk\": false}\n",
         number, module, place, module, what);
}

/* The number of a place in the program; 0 where the table is full. */
static uint32_t site(void *address, const char *what) {
    uintptr_t value = (uintptr_t)address;
    uint32_t place = (uint32_t)(value * 0x9e3779b97f4a7c15u >> 40) % SITES;
    for (uint32_t tries = 0; tries < SITES; tries++, place = (place + 1) % SITES) {
        uintptr_t there = atomic_load_explicit(&sites[place], memory_order_relaxed);
        if (there == 0 && atomic_compare_exchange_strong(&sites[place], &there, value)) {
            tell_site(place + 1, address, what);
            return place + 1;
        }
        if (there == value)
            return place + 1;
    }
    return 0;
}

static bool ready(void) {
    if (inside)
        return false;
    if (!process) {
        inside = true;
        pthread_once(&opened, begin);
        inside = false;
    }
    return atomic_load_explicit(&recording, memory_order_relaxed);
}

static void add(int kind, uint64_t time, const void *object, void *address, const char *what) {
    if (!ready())
        return;
    int kept = errno;
    inside = true;
    buffer_t *own = mine ? mine : own_buffer();
    if (own) {
        uint32_t at = atomic_load_explicit(&own->count, memory_order_relaxed);
        if (at == RECORDS)
            flush(own, true), at = 0;
        time = time > start ? time - start : 0;
        own->last = time = time > own->last ? time : own->last + 1;
        own->acquired += (kind & 15) == ACQUIRED;
        uint32_t identity = (uint32_t)((uintptr_t)object * 0x9e3779b97f4a7c15u >> 33);
        own->records[at] = (record_t){time << 16 | (unsigned)kind, identity, site(address, what)};
        atomic_store_explicit(&own->count, at + 1, memory_order_release);
    }
    inside = false;
    errno = kept;
}

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define RECORDED(call)                                                                             \
    resolve();                                                                                     \
    uint64_t time = inside ? 0 : now();                                                            \
    int result = call;                                                                             \
    if (result == 0 || result == EOWNERDEAD)                                                       \
        add(ACQUIRED | BEGUN, time, mutex, CALLER, "block");                                       \
    return result

int pthread_mutex_lock(pthread_mutex_t *mutex) { RECORDED(real.lock(mutex)); }

int pthread_mutex_trylock(pthread_mutex_t *mutex) { RECORDED(real.trylock(mutex)); }

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    RECORDED(real.timedlock(mutex, until));
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    RECORDED(real.clocklock(mutex, clock, until));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    resolve();
    if (!inside)
        add(RELEASE, now(), mutex, CALLER, "block");
    int result = real.unlock(mutex);
    if (result != 0)
        add(NOTHING_DONE, now(), mutex, CALLER, "block");
    return result;
}

typedef struct {
    pthread_mutex_t *mutex;
    void *caller;
} waiting_t;

/* Also where the thread is cancelled in its wait: it has the mutex then. */
static void waited(void *argument) {
    waiting_t *waiting = argument;
    add(WAITED, now(), waiting->mutex, waiting->caller, "wait");
}

#define WAITING(call)                                                                              \
    resolve();                                                                                     \
    int result;                                                                                    \
    waiting_t waiting = {mutex, CALLER};                                                           \
    add(WAIT, now(), mutex, waiting.caller, "wait");                                               \
    pthread_cleanup_push(waited, &waiting);                                                        \
    result = call;                                                                                 \
    pthread_cleanup_pop(1);                                                                        \
    return result

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    WAITING(real.wait(condition, mutex));
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
    WAITING(real.timedwait(condition, mutex, until));
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
    WAITING(real.clockwait(condition, mutex, clock, until));
}

__attribute__((destructor)) static void finish(void) {
    if (file < 0 || process != getpid())
        return;
    inside = true;
    atomic_store(&recording, false);
    uint64_t time = now() - start, acquired = __atomic_load_n(&gone, __ATOMIC_RELAXED);
    flush_all();
    for (buffer_t *one = atomic_load(&buffers); one; one = one->next)
        acquired += one->acquired;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    uint64_t cpu = ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000u +
                   ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000u;
    text("DONE", "{\"end\": \"%s\", \"time\": %llu, \"cpu\": %llu, \"acquisitions\": %llu}\n", end,
         (unsigned long long)time, (unsigned long long)cpu, (unsigned long long)acquired);
    fprintf(stderr, "lockcross: %llu acquisitions in %.1f s (%.1f s of CPU time): %s, %llu bytes\n",
            (unsigned long long)acquired, (double)time / 1e9, (double)cpu / 1e9, path,
            (unsigned long long)size);
    if (strcmp(end, "exit") != 0)
        fprintf(stderr, "lockcross: recording ended before the program (%s)\n",
                strcmp(end, "disk") == 0 ? "the disk is full" : "the size limit is reached");
    fprintf(stderr,
            "lockcross: not seen: locks that call no pthread_mutex function of a shared C "
            "library (futexes of other runtimes, spin locks, inlined or linked statically), "
            "read-write locks, and children that the program forks\n");
}
