/* A program of which every lock is known; its argument: how often two threads count. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int open_, waiting;
static long sum;
static long rounds;

static void *count(void *unused) {
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&shared);
        sum++;
        pthread_mutex_unlock(&shared);
    }
    return unused;
}

static void *await(void *unused) {
    pthread_mutex_lock(&shared);
    waiting = 1;
    while (!open_)
        pthread_cond_wait(&changed, &shared);
    pthread_mutex_unlock(&shared);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[3];
    struct timespec past = {0};
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    for (int i = 0; i < 5; i++)
        pthread_mutex_lock(&recursive);
    for (int i = 0; i < 3; i++)
        pthread_mutex_trylock(&recursive);
    pthread_mutex_timedlock(&recursive, &past);
    for (int i = 0; i < 9; i++)
        pthread_mutex_unlock(&recursive);
    if (pthread_mutex_unlock(&recursive) == 0) /* not held: does nothing */
        return 1;
    pthread_mutex_lock(&shared);
    if (pthread_mutex_trylock(&shared) == 0 || pthread_mutex_timedlock(&shared, &past) == 0)
        return 2;
    pthread_mutex_unlock(&shared);
    pthread_create(&threads[2], 0, await, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, count, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    pthread_mutex_lock(&shared);
    open_ = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&shared);
    pthread_join(threads[2], 0);
    return sum == 2 * rounds ? 7 : 3;
}
