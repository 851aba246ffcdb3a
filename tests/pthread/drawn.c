/* What drawn programs have in common (tests/questions/pthread_programs.py). */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
enum { PLAIN, RECURSIVE, CHECKING, ROBUST, MUTEXES = 12, ALL = 20 };
enum { C11 = 12, C11_TIMED, HANDLER, ATEXIT, KEY, LIBRARY, CONDITION, OTHER };
static struct { uint64_t address, count; } *side;
typedef void *thread_code(void *);
static pthread_mutex_t mutexes[ALL];
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static mtx_t c11, c11_timed;
static cnd_t c11_changed;
static pthread_key_t key;
static int child;
static char *self;
static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void took(int one) {
    if (!child)
        __atomic_fetch_add(&side[one].count, 1, __ATOMIC_RELAXED);
}
static void say(const char *what, long value) { dprintf(1, "%s %ld\n", what, value); }
static void lock(int one) { if (pthread_mutex_lock(&mutexes[one]) == 0) took(one); }
static void unlock(int one) { pthread_mutex_unlock(&mutexes[one]); }
static struct timespec after(clockid_t clock, long us) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += us * 1000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}
static void on_signal(int number) {
    int kept = errno;
    if (pthread_mutex_trylock(&mutexes[HANDLER]) == 0) {
        took(HANDLER);
        unlock(HANDLER);
    }
    errno = kept;
    if (number == SIGUSR2 && jumps)
        siglongjmp(back, 1);
}
static void at_exit(void) { lock(ATEXIT); unlock(ATEXIT); }
static void at_thread_end(void *unused) { (void)unused; lock(KEY); unlock(KEY); }
static void let_go(void *mutex) { pthread_mutex_unlock(mutex); }
static int entries(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}
static void many(int one, long rounds) {
    for (long i = 0; i < rounds; i++) { lock(one); unlock(one); }
}
static void recurse(int one, int depth) {
    lock(one);
    if (depth)
        recurse(one, depth - 1);
    unlock(one);
}
static void tries(int one) {
    if (pthread_mutex_trylock(&mutexes[one]) == 0) { took(one); unlock(one); }
}
static void tries_until(int one, long us, int by_clock) {
    struct timespec t = after(CLOCK_REALTIME, us);
    int failed = by_clock ? pthread_mutex_clocklock(&mutexes[one], CLOCK_REALTIME, &t)
                          : pthread_mutex_timedlock(&mutexes[one], &t);
    if (!failed) { took(one); unlock(one); }
}
static void waits(long us, int by_clock) {
    struct timespec t = after(CLOCK_REALTIME, us);
    lock(CONDITION);
    if (by_clock)
        pthread_cond_clockwait(&changed, &mutexes[CONDITION], CLOCK_REALTIME, &t);
    else
        pthread_cond_timedwait(&changed, &mutexes[CONDITION], &t);
    pthread_cond_broadcast(&changed);
    unlock(CONDITION);
}
static void checks(int one) {
    say("unlock", pthread_mutex_unlock(&mutexes[one]));
    lock(one);
    say("again", pthread_mutex_lock(&mutexes[one]));
    unlock(one);
}
static void pairs_of_c11(int rounds) {
    for (int i = 0; i < rounds; i++)
        if (mtx_lock(&c11) == thrd_success) {
            took(C11);
            if (mtx_trylock(&c11_timed) == thrd_success) {
                took(C11_TIMED);
                mtx_unlock(&c11_timed);
            }
            mtx_unlock(&c11);
        }
}
static void waits_of_c11(void) {
    struct timespec t = after(CLOCK_REALTIME, 300);
    if (mtx_timedlock(&c11_timed, &t) == thrd_success) {
        took(C11_TIMED);
        mtx_unlock(&c11_timed);
    }
    t = after(CLOCK_REALTIME, 300);
    mtx_lock(&c11);
    took(C11);
    say("timed out", cnd_timedwait(&c11_changed, &c11, &t) == thrd_timedout);
    mtx_unlock(&c11);
}
static void signals(int times) {
    for (int i = 0; i < times; i++)
        raise(SIGUSR1);
}
static void alarms(int one) {
    struct itimerval fast = {{0, 100}, {0, 100}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &fast, 0);
    many(one, 30000);
    setitimer(ITIMER_REAL, &off, 0);
}
static void jumps_out(void) {
    for (volatile int i = 0; i < 5; i++)
        if (!sigsetjmp(back, 1)) { jumps = 1; raise(SIGUSR2); }
    jumps = 0;
    many(PLAIN, 10);
}
static void aborts(int unused) { (void)unused; abort(); }
static void in_child(pid_t (*forks)(void), int one, void (*ends)(int)) {
    pid_t process = forks();
    if (process == 0) { child = 1; many(one, 20000); ends(3); }
    int status = 0;
    waitpid(process, &status, 0);
    say("child", status);
    say("no more", wait(0) == -1 && errno == ECHILD);
}
static void forks_while_it_holds(void) {
    lock(PLAIN);
    pid_t process = fork();
    if (process == 0) { child = 1; unlock(PLAIN); many(PLAIN, 9); _exit(0); }
    unlock(PLAIN);
    int status = 0;
    waitpid(process, &status, 0);
    say("held", status);
}
static void closes_each(void) {
    for (int f = 3; f < 1024; f++)
        close(f);
}
static void writes(int one) {
    int file = open("kept.txt", O_CREAT | O_TRUNC | O_RDWR, 0644);
    say("file", file);
    for (int i = 0; i < 5; i++) { many(one, 5000); dprintf(file, "%d\n", i); }
    say("size", lseek(file, 0, SEEK_END));
    close(file);
}
static void errors_to_a_file(int one) {
    int kept = dup(2);
    close(2);
    int file = open("errors.txt", O_CREAT | O_TRUNC | O_RDWR, 0644);
    many(one, 9000);
    say("errors", lseek(file, 0, SEEK_END));
    dup2(kept, 2);
    close(kept);
}
static void duplicates(int one) {
    int file = open("copies.txt", O_CREAT | O_TRUNC | O_RDWR, 0644);
    for (int i = file + 1; i < 200; i++)
        dup2(file, i);
    many(one, 9000);
    say("copies", lseek(file, 0, SEEK_END));
    closefrom(file);
}
static void loads_library(int times, int closes) {
    char path[4096];
    snprintf(path, sizeof path, "%s.so", self);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) { say(dlerror(), 0); exit(9); }
    void *(*work)(int) = (void *(*)(int))dlsym(library, "work");
    uint64_t address = (uintptr_t)work(times);
    if (side[LIBRARY].count == 0 || side[LIBRARY].address == address) {
        side[LIBRARY].address = address;
        side[LIBRARY].count += times;
    } else
        say("elsewhere", 0);
    if (closes)
        dlclose(library);
}
static void looks(void) {
    say("threads", entries("/proc/self/task"));
    say("files", entries("/proc/self/fd"));
    say("children", waitpid(-1, 0, WNOHANG | __WALL));
    say("single", errno == ECHILD);
}
static void run(thread_code *const *codes) {
    pthread_t threads[4];
    int count = 0;
    for (; codes[count]; count++)
        pthread_create(&threads[count], 0, codes[count], 0);
    while (count)
        pthread_join(threads[--count], 0);
}
static void *waits_for_ever(void *unused) {
    lock(CONDITION);
    pthread_cleanup_push(let_go, &mutexes[CONDITION]);
    for (;;)
        pthread_cond_wait(&changed, &mutexes[CONDITION]);
    pthread_cleanup_pop(1);
    return unused;
}
static void *locks_until_cancelled(void *one) {
    for (;;) { many((int)(intptr_t)one, 50); pthread_testcancel(); }
}
static void *counts_for_ever(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    for (volatile long i = 0;; i++)
        ;
    return unused;
}
static void *dies_with(void *one) { lock((int)(intptr_t)one); return 0; }
static void recovers(int one) {
    pthread_t thread;
    pthread_create(&thread, 0, dies_with, (void *)(intptr_t)one);
    pthread_join(thread, 0);
    int result = pthread_mutex_lock(&mutexes[one]);
    if (result == 0 || result == EOWNERDEAD)
        took(one);
    say("robust", result);
    if (result == EOWNERDEAD)
        pthread_mutex_consistent(&mutexes[one]);
    unlock(one);
}
static void *unlocks_other(void *unused) { unlock(OTHER); return unused; }
static void unlocked_by_other(int times) {
    for (int i = 0; i < times; i++) { lock(OTHER); run((thread_code *[]){unlocks_other, 0}); }
}
static void *ends_later(void *code) {
    usleep(2000);
    many(PLAIN, 100);
    exit((int)(intptr_t)code);
}
static void cancel(thread_code *what, int one) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, what, (void *)(intptr_t)one);
    usleep(300);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    say("cancelled", result == PTHREAD_CANCELED);
}
static void begin(const char *program, const char *path) {
    self = (char *)program;
    int file = open(path, O_RDWR);
    side = mmap(0, ALL * sizeof *side, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    for (int i = 0; i < ALL; i++) {
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        if (i < MUTEXES)
            switch (i % 4) {
            case RECURSIVE: pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE); break;
            case CHECKING: pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK); break;
            case ROBUST: pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST); break;
            }
        pthread_mutex_init(&mutexes[i], &kind);
        side[i].address = (uintptr_t)&mutexes[i];
    }
    mtx_init(&c11, mtx_plain);
    mtx_init(&c11_timed, mtx_timed | mtx_recursive);
    cnd_init(&c11_changed);
    side[C11].address = (uintptr_t)&c11;
    side[C11_TIMED].address = (uintptr_t)&c11_timed;
    pthread_key_create(&key, at_thread_end);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    sigaction(SIGALRM, &action, 0);
}
