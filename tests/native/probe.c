/* Each primitive and each lock operation as a function of its own, for tests that read the code
 * which the compiler made of it (tests/locks/test_generated_code.py). Never run. */
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "runtime/runtime.h"

#define PROBE __attribute__((noinline, used))

PROBE uint32_t probe_fetch_set(uint32_t *p) { return fetch_set_acq_u32(p, 256); }
PROBE uint16_t probe_swap_u16(uint16_t *p, uint16_t a) { return swap_acq_rel_u16(p, a); }
PROBE uint32_t probe_store_u8_then_load(uint32_t *p, uint8_t a) {
    return store_u8_then_load_acq_u32(p, 0, a);
}
PROBE uint32_t probe_store_u8_then_load_next(uint32_t *p, uint8_t a) {
    return store_rel_u8_then_load_next(p, 0, a);
}
PROBE uint32_t probe_store_u16_then_load_next(uint32_t *p, uint16_t a) {
    return store_rel_u16_then_load_next(p, 1, a);
}
PROBE uint32_t probe_store_u32_then_load_next(uint32_t *p, uint32_t a) {
    return store_rel_u32_then_load_next(p, a);
}
PROBE void probe_charge_stop(void) { charge(CHARGE_STOP); }
PROBE void probe_charge_stop_blocked(void) { charge(CHARGE_STOP_BLOCKED); }
PROBE void probe_charge_stop_ended(void) { charge(CHARGE_STOP_ENDED); }
PROBE void probe_charge_park(void) { charge(CHARGE_PARK); }
PROBE void probe_charge_unpark(void) { charge(CHARGE_UNPARK); }
PROBE void probe_charge_wake(void) { charge(CHARGE_WAKE); }
PROBE void probe_charge_switch(void) { charge(CHARGE_SWITCH); }
PROBE void probe_charge_yield(void) { charge(CHARGE_YIELD); }
PROBE lock_result_t probe_acquire(lock_object_t *o, lock_thread_t *t) { return lock_acquire(o, t); }
PROBE lock_result_t probe_release(lock_object_t *o, lock_thread_t *t) { return lock_release(o, t); }
PROBE void probe_safepoint(lock_thread_t *t) { lock_safepoint(t); }

static runtime_key_t keys[] = {RUNTIME_KEYS_END};
static const char *setup(void) { return "this program is never run"; }
static void prepare(lock_thread_t *self) { (void)self; }
static uint64_t run(lock_thread_t *self) { return self->tid; }
static const char *verify(uint64_t pairs) { return pairs ? 0 : "nothing was run"; }

const workload_t workload = {"probe", keys, 1, 1, setup, prepare, run, verify};
