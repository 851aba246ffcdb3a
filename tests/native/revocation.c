/* revocation: what the lock `revocable` rolls back and what it does not, one case after the other.
 * Thread 0 holds, thread 1 of higher priority wants what it holds, thread 2 is another of thread
 * 0's priority. */
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "lock.h"
#include "monitor/processor.h"
#include "parts/revocable_monitor.h"
#include "parts/revocable_state.h"
#include "registry.h"
#include "runtime/runtime.h"
#include "section.h"

typedef struct {
    lock_object_t lock;
    volatile uint64_t a, b; /* 10 and WIDE when a case begins */
} __attribute__((aligned(LOCK_LINE))) object_t;

/* A log keeps both halves of it. */
#define WIDE (UINT64_C(20) << 32 | 20)

static object_t outer, inner;
static volatile uint32_t stage __attribute__((aligned(LOCK_LINE)));
static const char *name; /* of the case */

static void expect(bool condition) {
    if (!condition)
        lock_fatal(name);
}

static void reach(uint32_t number) { store_rel_u32(&stage, number); }

static void await(uint32_t number) {
    while (load_acq_u32(&stage) < number)
        cpu_relax();
}

/* Of thread 0: until it is asked to roll back what it holds the outer lock for. */
static void await_request(const lock_thread_t *self) {
    while (!(load_acq_u32(&outer.lock.lock_word) & REVOCABLE_ASKED) ||
           load_acq_u32(&revocable_threads[self->tid - 1].asked) == 0)
        cpu_relax();
}

/* Thread 0 was asked, and keeps what it has. */
static void expect_no_roll_back(lock_thread_t *self) {
    await_request(self);
    expect(!lock_section_poll(self));
    expect(!lock_section_poll(self));
}

/* Thread 0 announces that it may be asked, and is rolled back. */
static void be_rolled_back(lock_thread_t *self) {
    reach(1);
    while (!lock_section_poll(self))
        cpu_relax();
}

/* Thread 1 finds `a` and `b` in the object whose lock it takes, and adds 100 to `a`. */
static void take(object_t *object, lock_thread_t *self, uint64_t a, uint64_t b) {
    lock_section_t section = {0};
    lock_section_begin(&section, &object->lock, self);
    expect(object->a == a && object->b == b);
    lock_section_write(self, &object->a, a + 100);
    lock_section_end(&section, self);
}

static void low_restore(lock_thread_t *self) {
    lock_section_t section = {0};
    lock_section_begin(&section, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    lock_section_write(self, &outer.b, 21);
    lock_section_write(self, &outer.a, 12);
    be_rolled_back(self);
    expect(!lock_section_is_open(&section, self));
    lock_section_begin(&section, &outer.lock, self);
    expect(outer.a == 110 && outer.b == WIDE);
    lock_section_end(&section, self);
}

static void low_notify(lock_thread_t *self) {
    lock_section_t section = {0};
    lock_section_begin(&section, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    expect(lock_notify(&outer.lock, self) == SUCCESS);
    be_rolled_back(self);
}

/* The outer one is asked for: the inner one goes with it. */
static void low_nested(lock_thread_t *self) {
    lock_section_t first = {0}, second = {0};
    lock_section_begin(&first, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    lock_section_begin(&second, &inner.lock, self);
    lock_section_write(self, &inner.a, 11);
    be_rolled_back(self);
    expect(!lock_section_is_open(&first, self) && !lock_section_is_open(&second, self));
    expect(lock_is_idle(&inner.lock) && inner.a == 10);
}

/* The inner one is asked for: the outer one stays. */
static void low_inner(lock_thread_t *self) {
    lock_section_t first = {0}, second = {0};
    lock_section_begin(&first, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    lock_section_begin(&second, &inner.lock, self);
    lock_section_write(self, &inner.a, 11);
    be_rolled_back(self);
    expect(lock_section_is_open(&first, self) && !lock_section_is_open(&second, self));
    expect(outer.a == 11);
    lock_section_end(&first, self);
}

/* Twice the same monitor is one section. */
static void low_recursive(lock_thread_t *self) {
    lock_section_t first = {0}, second = {0};
    lock_section_begin(&first, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    lock_section_begin(&second, &outer.lock, self);
    lock_section_write(self, &outer.b, 21);
    be_rolled_back(self);
    expect(!lock_section_is_open(&first, self) && !lock_section_is_open(&second, self));
}

/* Ends the inner section inside the outer one, where it has written. */
static void release_inner(lock_section_t *first, lock_thread_t *self) {
    lock_section_t second = {0};
    lock_section_begin(first, &outer.lock, self);
    lock_section_begin(&second, &inner.lock, self);
    lock_section_write(self, &inner.a, 11);
    lock_section_end(&second, self);
}

static void low_unread(lock_thread_t *self) {
    lock_section_t first = {0};
    release_inner(&first, self);
    be_rolled_back(self);
    expect(inner.a == 10);
}

/* Figure 2: another thread has read what the roll-back would undo. */
static void low_read(lock_thread_t *self) {
    lock_section_t first = {0};
    release_inner(&first, self);
    reach(1);
    expect_no_roll_back(self);
    lock_section_end(&first, self);
}

static void high_read(lock_thread_t *self) {
    await(1);
    take(&inner, self, 11, WIDE);
    take(&outer, self, 10, WIDE);
}

static void low_native(lock_thread_t *self) {
    lock_section_t section = {0};
    lock_section_begin(&section, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    lock_section_native(self);
    reach(1);
    expect_no_roll_back(self);
    lock_section_end(&section, self);
}

static void low_volatile(lock_thread_t *self) {
    lock_section_t section = {0};
    lock_section_begin(&section, &outer.lock, self);
    lock_section_write_volatile(self, &outer.a, 11);
    reach(1);
    expect_no_roll_back(self);
    lock_section_end(&section, self);
}

static void low_plain(lock_thread_t *self) {
    lock_section_t section = {0};
    lock_section_begin(&section, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    lock_acquire(&inner.lock, self);
    reach(1);
    expect_no_roll_back(self);
    lock_release(&inner.lock, self);
    lock_section_end(&section, self);
}

static void high_kept(lock_thread_t *self) {
    await(1);
    take(&outer, self, 11, WIDE);
}

/* A wait with another section open. */
static void low_nested_wait(lock_thread_t *self) {
    lock_section_t first = {0}, second = {0};
    lock_section_begin(&first, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    lock_section_begin(&second, &inner.lock, self);
    reach(1);
    expect(lock_section_wait(&second, self) == SUCCESS);
    expect_no_roll_back(self);
    lock_section_end(&second, self);
    lock_section_end(&first, self);
}

/* Notifies who waits on an object, which it does as soon as its lock can be had. */
static void notify(object_t *object, lock_thread_t *self) {
    await(1);
    lock_acquire(&object->lock, self);
    lock_notify(&object->lock, self);
    lock_release(&object->lock, self);
}

static void high_nested_wait(lock_thread_t *self) {
    notify(&inner, self);
    take(&outer, self, 11, WIDE);
}

/* A wait in the only section: what stands before it is done. */
static void low_lone_wait(lock_thread_t *self) {
    lock_section_t section = {0};
    lock_section_begin(&section, &outer.lock, self);
    lock_section_write(self, &outer.a, 11);
    reach(1);
    expect(lock_section_wait(&section, self) == SUCCESS);
    lock_section_write(self, &outer.b, 21);
    reach(2);
    while (!lock_section_poll(self))
        cpu_relax();
    lock_section_begin(&section, &outer.lock, self);
    expect(lock_section_waits(&section) == 1 && outer.a == 111 && outer.b == WIDE);
    lock_section_end(&section, self);
}

static void high_lone_wait(lock_thread_t *self) {
    notify(&outer, self);
    await(2);
    take(&outer, self, 11, WIDE);
}

/* Thread 2 waits for the monitor before thread 1 does, and gets it behind it. */
static void low_overtaken(lock_thread_t *self) {
    lock_acquire(&outer.lock, self);
    reach(1);
    await_request(self);
    expect(!lock_section_poll(self));
    lock_release(&outer.lock, self);
}

static void high_overtakes(lock_thread_t *self) {
    await(1);
    while (!(load_acq_u32(&outer.lock.lock_word) & REVOCABLE_WAITERS))
        cpu_relax();
    take(&outer, self, 10, WIDE);
}

static void other_overtaken(lock_thread_t *self) {
    await(1);
    take(&outer, self, 110, WIDE);
}

static void high_outer(lock_thread_t *self) {
    await(1);
    take(&outer, self, 10, WIDE);
}

static void high_inner(lock_thread_t *self) {
    await(1);
    take(&inner, self, 10, WIDE);
}

static void none(lock_thread_t *self) { (void)self; }

static const struct {
    const char *name;
    void (*run[3])(lock_thread_t *self); /* by thread */
} cases[] = {
    {"restored in reverse, and begun again", {low_restore, high_outer, none}},
    {"a notification pins nothing", {low_notify, high_outer, none}},
    {"the outer section is revoked", {low_nested, high_outer, none}},
    {"the inner section is revoked", {low_inner, high_inner, none}},
    {"a recursive section is revoked", {low_recursive, high_outer, none}},
    {"released inside, but not read", {low_unread, high_outer, none}},
    {"read by another thread", {low_read, high_read, none}},
    {"native call", {low_native, high_kept, none}},
    {"volatile write", {low_volatile, high_kept, none}},
    {"plain acquisition inside", {low_plain, high_kept, none}},
    {"nested wait", {low_nested_wait, high_nested_wait, none}},
    {"wait in the only section", {low_lone_wait, high_lone_wait, none}},
    {"prioritized queue", {low_overtaken, high_overtakes, other_overtaken}},
};
enum { CASES = sizeof cases / sizeof *cases };

static runtime_key_t keys[] = {RUNTIME_KEYS_END};
static const char *setup(void) { return 0; }

static void prepare(lock_thread_t *self) {
    lock_set_priority(self, PROCESSOR_PRIORITY_DEFAULT + (runtime_index(self) == 1));
}

static void begin_case(unsigned number) {
    name = cases[number].name;
    stage = 0;
    lock_object_init(&outer.lock);
    lock_object_init(&inner.lock);
    outer.a = inner.a = 10;
    outer.b = inner.b = WIDE;
}

static uint64_t run(lock_thread_t *self) {
    for (unsigned i = 0; i < CASES; i++) {
        if (runtime_index(self) == 0)
            begin_case(i);
        runtime_barrier(self);
        cases[i].run[runtime_index(self)](self);
        runtime_barrier(self);
        expect(lock_is_idle(&outer.lock) && lock_is_idle(&inner.lock));
        runtime_barrier(self);
    }
    return CASES;
}

static const char *verify(uint64_t pairs) { return pairs == 3 * CASES ? 0 : "cases are missing"; }

const workload_t workload = {"revocation", keys, 3, 3, setup, prepare, run, verify};
