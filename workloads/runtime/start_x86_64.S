/* x86-64: program entry, thread creation, system calls. */

#include "runtime/layout.h"

        .text
        .globl  _start
        .type   _start, @function
_start:                                 /* the kernel's stack: argc, argv... */
        xorl    %ebp, %ebp
        movq    %rsp, %rdi
        leaq    runtime_stacks + RUNTIME_STACK_SIZE(%rip), %rsp
        call    runtime_begin           /* rsp is a multiple of 16 at the call */
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

/* Behind all code of a run, and farther than a core fetches that has gone astray.
 *
 * With the one argument "@serve" the program runs nothing itself: for each request that the engine
 * gets it forks, and the child begins anew, with the request's arguments. No instruction of the
 * region is executed before that, so the engine need not know its options until then. */
        .skip   RUNTIME_ASTRAY, 0
        .type   runtime_begin, @function
runtime_begin:                          /* rdi: the kernel's stack */
        cmpq    $2, (%rdi)
        jne     runtime_main
        movq    16(%rdi), %rax
        cmpb    $'@', (%rax)
        jne     runtime_main
1:      movl    $RUNTIME_SYS_MARKER, %eax
        movl    $RUNTIME_MARKER_SERVE, %edi
        leaq    runtime_arguments(%rip), %rsi
        movl    $RUNTIME_ARGUMENTS_SIZE, %edx
        syscall
        movl    $56, %eax               /* clone, as fork does */
        movl    $RUNTIME_SIGCHLD, %edi
        xorl    %esi, %esi
        xorl    %edx, %edx
        xorl    %r10d, %r10d
        xorl    %r8d, %r8d
        syscall
        movq    %rax, %rsi
        movl    $RUNTIME_SYS_MARKER, %eax
        movl    $RUNTIME_MARKER_FORKED, %edi
        syscall                         /* in both, each with what its clone returned */
        testq   %rsi, %rsi
        jnz     1b
        leaq    runtime_arguments(%rip), %rsp
        jmp     _start
        .size   runtime_begin, . - runtime_begin

        .bss
        .balign 64
runtime_arguments:
        .skip   RUNTIME_ARGUMENTS_SIZE

        .section .note.GNU-stack, "", @progbits
