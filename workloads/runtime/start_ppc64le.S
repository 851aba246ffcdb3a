/* POWER, ELFv2: program entry, thread creation, system calls. No loader has set r2 at the entry:
 * it is built from the program counter. */

        .abiversion 2
#include "runtime/layout.h"

        .text
        .globl  _start
        .type   _start, @function
_start:                                 /* the kernel's stack: argc, argv... */
        bcl     20, 31, 1f
1:      mflr    2
        addis   2, 2, (.TOC. - 1b)@ha
        addi    2, 2, (.TOC. - 1b)@l
        mr      3, 1
        addis   1, 2, (runtime_stacks + RUNTIME_STACK_SIZE - RUNTIME_FRAME)@toc@ha
        addi    1, 1, (runtime_stacks + RUNTIME_STACK_SIZE - RUNTIME_FRAME)@toc@l
        li      0, 0
        std     0, 0(1)                 /* the end of the chain of frames */
        mtlr    0
        bl      runtime_begin
        nop
        trap
        .size   _start, . - _start

/* long runtime_clone(unsigned long flags, void *stack_top, unsigned thread)
 * Returns to the caller only in the old thread; the new one runs runtime_thread(thread). */
        .globl  runtime_clone
        .type   runtime_clone, @function
runtime_clone:
0:      addis   2, 12, (.TOC. - 0b)@ha
        addi    2, 2, (.TOC. - 0b)@l
        .localentry runtime_clone, . - runtime_clone
        addi    4, 4, -RUNTIME_FRAME
        li      0, 0
        std     0, 0(4)
        /* r31 carries the thread number over the call: system calls keep r14 to r31. The old
         * thread gets its own back from below its stack pointer. */
        std     31, -8(1)
        mr      31, 5
        li      5, 0
        li      6, 0
        li      7, 0
        li      0, 120
        sc
        bns+    2f
        neg     3, 3                    /* the sign of an error is cr0.SO */
2:      cmpdi   3, 0
        beq     1f
        ld      31, -8(1)
        blr
1:      mr      3, 31
        bl      runtime_thread
        nop
        trap
        .size   runtime_clone, . - runtime_clone

/* long runtime_syscall(number, a0, a1, a2, a3, a4) */
        .globl  runtime_syscall
        .type   runtime_syscall, @function
runtime_syscall:
        mr      0, 3
        mr      3, 4
        mr      4, 5
        mr      5, 6
        mr      6, 7
        mr      7, 8
        sc
        bnslr+                          /* as above */
        neg     3, 3
        blr
        .size   runtime_syscall, . - runtime_syscall

/* Behind all code of a run, and farther than a core fetches that has gone astray.
 *
 * With the one argument "@serve" the program runs nothing itself: for each request that the engine
 * gets it forks, and the child begins anew, with the request's arguments. No instruction of the
 * region is executed before that, so the engine need not know its options until then. */
        .skip   RUNTIME_ASTRAY, 0
        .type   runtime_begin, @function
runtime_begin:                          /* r3: the kernel's stack; r2 is set */
        ld      4, 0(3)
        cmpdi   4, 2
        bne     2f
        ld      4, 16(3)
        lbz     4, 0(4)
        cmpwi   4, '@'
        bne     2f
        addis   31, 2, runtime_arguments@toc@ha
        addi    31, 31, runtime_arguments@toc@l
1:      li      0, RUNTIME_SYS_MARKER
        li      3, RUNTIME_MARKER_SERVE
        mr      4, 31
        li      5, RUNTIME_ARGUMENTS_SIZE
        sc
        li      0, 120                  /* clone, as fork does */
        li      3, RUNTIME_SIGCHLD
        li      4, 0
        li      5, 0
        li      6, 0
        li      7, 0
        sc
        bns+    3f
        neg     3, 3                    /* the sign of an error is cr0.SO */
3:      mr      30, 3
        mr      4, 3
        li      0, RUNTIME_SYS_MARKER
        li      3, RUNTIME_MARKER_FORKED
        sc                              /* in both, each with what its clone returned */
        cmpdi   30, 0
        bne     1b
        mr      1, 31
        b       _start
2:      b       runtime_main
        .size   runtime_begin, . - runtime_begin

        .bss
        .balign 64
runtime_arguments:
        .skip   RUNTIME_ARGUMENTS_SIZE

        .section .note.GNU-stack, "", @progbits
