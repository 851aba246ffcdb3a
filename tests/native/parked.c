/* parked: a workload in which every thread parks and nobody wakes one (test_scheduler.py). */
#include "monitor/monitor.h"
#include "runtime/runtime.h"

static runtime_key_t keys[] = {RUNTIME_KEYS_END};
static const char *setup(void) { return 0; }
static void prepare(lock_thread_t *self) { (void)self; }
static uint64_t run(lock_thread_t *self) {
    park(self);
    return 1;
}
static const char *verify(uint64_t pairs) { return pairs ? 0 : setup(); }

const workload_t workload = {"parked", keys, 1, 64, setup, prepare, run, verify};
