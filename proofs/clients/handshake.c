/*
 * handshake: a thread uses plain data of its own wherever it is RUNNING, and another uses it too
 * while it has stopped that thread. With CLIENT_MUTUAL each of two threads stops the other; else
 * all but the first stop the first. With CLIENT_POLLING the first goes on until it has been
 * stopped, so it must answer at a safepoint.
 */
#include "client.h"

#ifndef CLIENT_MUTUAL
#define CLIENT_MUTUAL 0
#endif
#ifndef CLIENT_POLLING
#define CLIENT_POLLING 0
#endif

static guarded_t own[2]; /* by thread; not its lock is used, but the rule on who may run */
#if CLIENT_POLLING
static volatile uint32_t has_stopped;
#endif

void prove_setup(void) { make_threads(); }

static void work(unsigned index, lock_thread_t *self) {
    count(&own[index]);
    lock_safepoint(self);
    count(&own[index]);
    lock_safepoint(self);
#if CLIENT_POLLING
    while (load_rlx_u32(&has_stopped) == 0) {
        lock_safepoint(self);
        cpu_relax();
    }
#endif
}

static void stop(unsigned index, lock_thread_t *self) {
    lock_thread_t *other = &lock_threads[index];
    handshake_stop(self, other);
    count(&own[index]);
#if CLIENT_POLLING
    store_rlx_u32(&has_stopped, 1);
#endif
    handshake_resume(self, other);
}

void prove_thread(unsigned index) {
    lock_thread_t *self = begin(index);
    if (index == 0 || CLIENT_MUTUAL)
        work(index, self);
    if (index != 0 || CLIENT_MUTUAL)
        stop(CLIENT_MUTUAL ? 1 - index : 0, self);
    end(self);
}

void prove_end(void) {
    uint32_t stops = CLIENT_MUTUAL ? 1 : CLIENT_THREADS - 1;
    for (unsigned i = 0; i <= CLIENT_MUTUAL; i++)
        prove_assert(own[i].value == 2 + stops, "an update of a thread's own data is lost");
}
