/* Two contexts on one host thread that hand over to each other. Without a C library, so that it can
 * be built for a host that is not this one. Exit code: 0, or which check failed. */
#include <stdint.h>

#include "region/switch_context.h"

#ifdef BY_KERNEL
#define SWITCH lockcross_switch_by_kernel
#else
#define SWITCH lockcross_switch
#endif

enum { TURNS = 1000, VALUES = 8 };
enum { FINE, LOST_THREAD, LOST_WHOLE, LOST_REAL, LOST_TURN };

static struct lockcross_context contexts[2];
static struct {
    void *self; /* on x86-64 the thread pointer is read from where it points to */
} threads[2];
static _Alignas(16) unsigned char stack[65536];
static volatile int turns[2];

static _Noreturn void leave(long code) {
#ifdef __x86_64__
    __asm__ volatile("syscall" : : "a"(231L), "D"(code) : "rcx", "r11", "memory");
#else
    register long x0 __asm__("x0") = code;
    register long x8 __asm__("x8") = 94;
    __asm__ volatile("svc 0" : : "r"(x0), "r"(x8) : "memory");
#endif
    for (;;) {
    }
}

static void check(int holds, int code) {
    if (!holds)
        leave(code);
}

/* Asked anew each time: compilers take it for the same throughout a function. */
static __attribute__((noinline, noclone)) void *thread_pointer(void) {
    __asm__ volatile("");
    return __builtin_thread_pointer();
}

/* Keeps values in registers that a callee saves, as many as there are. */
static void take_turns(int me) {
    volatile uint64_t whole = (uint64_t)me;
    volatile double real = me;
    uint64_t wholes[VALUES];
    double reals[VALUES];
    for (int i = 0; i < VALUES; i++)
        wholes[i] = whole + (uint64_t)i, reals[i] = real + i;
    for (int turn = 0; turn < TURNS; turn++) {
        turns[me]++;
        SWITCH(&contexts[me], &contexts[!me]);
        for (int i = 0; i < VALUES; i++)
            wholes[i] += 3, reals[i] += 5;
        if (turn + 1 < TURNS)
            check(thread_pointer() == &threads[me], LOST_THREAD);
    }
    for (int i = 0; i < VALUES; i++) {
        check(wholes[i] == (uint64_t)(me + i + 3 * TURNS), LOST_WHOLE);
        check(reals[i] == me + i + 5 * TURNS, LOST_REAL);
    }
}

/* On the other stack. Its return goes on in the first context, as that was saved last. */
static void second(struct lockcross_context *first) {
    check(first == &contexts[0], LOST_TURN);
    take_turns(1);
}

__attribute__((used)) static void begin(void) {
    for (int me = 0; me < 2; me++)
        threads[me].self = contexts[me].thread_pointer = &threads[me];
    lockcross_call_on(&contexts[0], stack + sizeof stack, second);
    take_turns(0);
    check(turns[0] == TURNS && turns[1] == TURNS, LOST_TURN);
    leave(FINE);
}

#ifdef __x86_64__
__asm__(".globl _start\n_start: and $-16, %rsp\ncall begin\n");
#else
__asm__(".globl _start\n_start: bl begin\n");
#endif
