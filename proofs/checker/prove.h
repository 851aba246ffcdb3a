/*
 * What a client of the checker may call, and what it defines. A client is a C program of a few
 * threads, compiled with `gcc -fsanitize=thread` and linked with the checker in place of that
 * sanitizer's own library (README.md).
 */
#ifndef PROVE_H
#define PROVE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called by a client. */

/* One turn of a waiting loop: the thread looks again later. */
void prove_wait(void);
/* The proof fails, with `what` as the reason, if it does not hold. */
void prove_assert(bool holds, const char *what);
/* This execution is longer than the client's own bound: it is not looked at any further. It is no
 * end: where nothing else can be reached, nobody knows whether a thread waits for ever. */
void prove_beyond_bound(void);
/* The proof fails. */
__attribute__((noreturn)) void lock_fatal(const char *message);
/* What the command line says by --parameter, 0 otherwise: a program may hold several clients. */
extern unsigned prove_parameter;

/* Defined by a client. */

extern const unsigned prove_threads; /* 1 to 8 */
/* Before the threads, alone. Local variables of it are not seen by threads. */
void prove_setup(void);
/* What thread `index` does, from 0. */
void prove_thread(unsigned index);
/* When all threads have ended; sees the final memory. */
void prove_end(void);
/* If defined: looked at each time a store has become visible. It only reads. */
__attribute__((weak)) void prove_invariant(void);

#ifdef __cplusplus
}
#endif

#endif
