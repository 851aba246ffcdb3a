/* The markers that tell an engine where a program is (docs/interfaces.md, section 5). */
#ifndef RUNTIME_MARKER_H
#define RUNTIME_MARKER_H

#include "runtime/layout.h"

enum { SYS_MARKER = RUNTIME_SYS_MARKER };
enum {
    MARKER_MEET = 1,
    MARKER_BEGIN = 2,
    MARKER_PHASE = 3,
    MARKER_END = 4,
    MARKER_TIMER = 5,
    MARKER_EVENT = 6,
    MARKER_SERVE = RUNTIME_MARKER_SERVE,
    MARKER_FORKED = RUNTIME_MARKER_FORKED
};

extern char __executable_start[], __bss_start[], _end[];

/* In start_<isa>.S */
long runtime_syscall(long number, long a0, long a1, long a2, long a3, long a4);

#endif
