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
static void *unlocks_other(void *unused) { unlock(OTHER); return unused; }
static void *ends_later(void *code) {
    usleep(2000);
    many(PLAIN, 100);
    exit((int)(intptr_t)code);
}
static void cancel(void *(*what)(void *), int one) {
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
