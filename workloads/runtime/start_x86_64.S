/* x86-64: program entry, thread creation, system calls. */

#include "runtime/layout.h"

        .text
        .globl  _start
        .type   _start, @function
_start:                                 /* the kernel's stack: argc, argv... */
        xorl    %ebp, %ebp
        movq    %rsp, %rdi
        leaq    runtime_stacks + RUNTIME_STACK_SIZE(%rip), %rsp
        call    runtime_main            /* rsp is a multiple of 16 at the call */
        ud2
        .size   _start, . - _start

/* long runtime_clone(unsigned long flags, void *stack_top, unsigned thread)
 * Returns to the caller only in the old thread; the new one runs runtime_thread(thread). */
        .globl  runtime_clone
        .type   runtime_clone, @function
runtime_clone:
        movq    %rdx, %r9               /* the new thread has all registers but rax, rcx, r11 */
        xorl    %edx, %edx
        xorl    %r10d, %r10d
        xorl    %r8d, %r8d
        movl    $56, %eax
        syscall
        testq   %rax, %rax
        jz      1f
        ret
1:      xorl    %ebp, %ebp
        movl    %r9d, %edi
        call    runtime_thread
        ud2
        .size   runtime_clone, . - runtime_clone

/* long runtime_syscall(number, a0, a1, a2, a3, a4) */
        .globl  runtime_syscall
        .type   runtime_syscall, @function
runtime_syscall:
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        movq    %rcx, %rdx
        movq    %r8, %r10
        movq    %r9, %r8
        syscall
        ret
        .size   runtime_syscall, . - runtime_syscall

        .section .note.GNU-stack, "", @progbits
