/*
 * A client of proofs/clients as a program of Posix threads: for GenMC and Dartagnan, which analyse
 * such programs, and for the host itself (CLIENT_RUNS), where a run shows that a client does what
 * it should. The client is included before this file (-include), since the analysers take one file.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "checker/prove.h"

#ifdef CLIENT_RUNS
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static void prune(void) { sched_yield(); }

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}
#else
#include <assert.h>

void __VERIFIER_assume(bool condition);

/* A waiting loop only reads: an execution in which it turns is the one in which the thread looks
 * later. So nothing is lost, but that a thread waits for ever is not seen. */
static void prune(void) { __VERIFIER_assume(false); }

static void fail(const char *what) {
    (void)what;
    assert(0);
}
#endif

void prove_wait(void) { prune(); }

void prove_beyond_bound(void) { prune(); }

void prove_assert(bool holds, const char *what) {
    if (!holds)
        fail(what);
}

void lock_fatal(const char *message) {
    fail(message);
    for (;;)
        ;
}

static void *run(void *index) {
    prove_thread((unsigned)(uintptr_t)index);
    return 0;
}

int main(void) {
    pthread_t threads[CLIENT_THREADS];
    prove_setup();
    for (uintptr_t i = 0; i < CLIENT_THREADS; i++)
        pthread_create(&threads[i], 0, run, (void *)i);
    for (uintptr_t i = 0; i < CLIENT_THREADS; i++)
        pthread_join(threads[i], 0);
    prove_end();
    return 0;
}
