/* AArch64: program entry, thread creation, system calls. */

#include "runtime/layout.h"

        .text
        .globl  _start
        .type   _start, %function
_start:                                 /* the kernel's stack: argc, argv... */
        mov     x29, #0
        mov     x30, #0
        mov     x0, sp
        adrp    x1, runtime_stacks + RUNTIME_STACK_SIZE
        add     x1, x1, :lo12:runtime_stacks + RUNTIME_STACK_SIZE
        mov     sp, x1
        bl      runtime_begin
        brk     #1
        .size   _start, . - _start

/* long runtime_clone(unsigned long flags, void *stack_top, unsigned thread)
 * Returns to the caller only in the old thread; the new one runs runtime_thread(thread). */
        .globl  runtime_clone
        .type   runtime_clone, %function
runtime_clone:
        mov     w9, w2                  /* the new thread has all registers but x0 */
        mov     x2, #0
        mov     x3, #0
        mov     x4, #0
        mov     x8, #220
        svc     #0
        cbz     x0, 1f
        ret
1:      mov     x29, #0
        mov     x30, #0
        mov     w0, w9
        bl      runtime_thread
        brk     #1
        .size   runtime_clone, . - runtime_clone

/* long runtime_syscall(number, a0, a1, a2, a3, a4) */
        .globl  runtime_syscall
        .type   runtime_syscall, %function
runtime_syscall:
        mov     x8, x0
        mov     x0, x1
        mov     x1, x2
        mov     x2, x3
        mov     x3, x4
        mov     x4, x5
        svc     #0
        ret
        .size   runtime_syscall, . - runtime_syscall

/* Behind all code of a run, and farther than a core fetches that has gone astray.
 *
 * With the one argument "@serve" the program runs nothing itself: for each request that the engine
 * gets it forks, and the child begins anew, with the request's arguments. No instruction of the
 * region is executed before that, so the engine need not know its options until then. */
        .rept   RUNTIME_ASTRAY / 4
        nop
        .endr
        .type   runtime_begin, %function
runtime_begin:                          /* x0: the kernel's stack */
        ldr     x1, [x0]
        cmp     x1, #2
        b.ne    2f
        ldr     x1, [x0, #16]
        ldrb    w1, [x1]
        cmp     w1, #'@'
        b.ne    2f
        adrp    x19, runtime_arguments
        add     x19, x19, :lo12:runtime_arguments
1:      mov     x8, #RUNTIME_SYS_MARKER
        mov     x0, #RUNTIME_MARKER_SERVE
        mov     x1, x19
        mov     x2, #RUNTIME_ARGUMENTS_SIZE
        svc     #0
        mov     x8, #220                /* clone, as fork does */
        mov     x0, #RUNTIME_SIGCHLD
        mov     x1, #0
        mov     x2, #0
        mov     x3, #0
        mov     x4, #0
        svc     #0
        mov     x1, x0
        mov     x8, #RUNTIME_SYS_MARKER
        mov     x0, #RUNTIME_MARKER_FORKED
        svc     #0                      /* in both, each with what its clone returned */
        cbnz    x1, 1b
        mov     sp, x19
        b       _start
2:      b       runtime_main
        .size   runtime_begin, . - runtime_begin

        .bss
        .balign 64
runtime_arguments:
        .skip   RUNTIME_ARGUMENTS_SIZE

        .section .note.GNU-stack, "", %progbits
