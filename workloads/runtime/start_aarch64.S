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
        bl      runtime_main
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

        .section .note.GNU-stack, "", %progbits
