/* POWER, ELFv2: the context of a thread is its stack pointer; the registers that calls preserve are
 * on its stack. The general registers are all that programs use, and r2 is the same for all. */

        .abiversion 2
#include "runtime/layout.h"

#define SAVED 32                        /* offset of r14 in the frame, behind the ABI's header */
#define FRAME (SAVED + 18 * 8)

        .text
/* void scheduler_switch(void **save, void *context) */
        .globl  scheduler_switch
        .type   scheduler_switch, @function
scheduler_switch:
        mflr    0
        std     0, 16(1)
        mfcr    0
        stw     0, 8(1)
        stdu    1, -FRAME(1)
        .irp    n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        std     \n, SAVED + (\n - 14) * 8(1)
        .endr
        std     1, 0(3)
        mr      1, 4
        .irp    n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        ld      \n, SAVED + (\n - 14) * 8(1)
        .endr
        addi    1, 1, FRAME
        lwz     0, 8(1)
        mtcrf   0x38, 0                 /* cr2 to cr4 */
        ld      0, 16(1)
        mtlr    0
        blr
        .size   scheduler_switch, . - scheduler_switch

/* void *scheduler_context(void *stack_top, unsigned thread): the switch to it loads r31, the
 * number, and returns to 1f. */
        .globl  scheduler_context
        .type   scheduler_context, @function
scheduler_context:
        mflr    5
        bcl     20, 31, 0f
0:      mflr    6
        addi    6, 6, 1f - 0b
        mtlr    5
        addi    3, 3, -RUNTIME_FRAME
        li      0, 0
        std     0, 0(3)                 /* the end of the chain of frames */
        std     0, 8(3)
        std     6, 16(3)
        stdu    3, -FRAME(3)
        rldicl  4, 4, 0, 32
        std     4, SAVED + 17 * 8(3)
        blr
1:      mr      3, 31
        bl      scheduler_begin
        nop
        trap
        .size   scheduler_context, . - scheduler_context

        .section .note.GNU-stack, "", @progbits
