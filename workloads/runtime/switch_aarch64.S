/* AArch64: the context of a thread is its stack pointer; the registers that calls preserve are on
 * its stack. The general registers are all that programs use. */

        .text
/* void scheduler_switch(void **save, void *context) */
        .globl  scheduler_switch
        .type   scheduler_switch, %function
scheduler_switch:
        stp     x29, x30, [sp, #-96]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     x29, x30, [sp], #96
        ret
        .size   scheduler_switch, . - scheduler_switch

/* void *scheduler_context(void *stack_top, unsigned thread): the switch to it loads x19, the
 * number, and returns to 1f. */
        .globl  scheduler_context
        .type   scheduler_context, %function
scheduler_context:
        sub     x0, x0, #96
        adr     x9, 1f
        stp     xzr, x9, [x0]           /* x29: the end of the chain of frames */
        mov     w1, w1
        str     x1, [x0, #16]
        ret
1:      mov     w0, w19
        bl      scheduler_begin
        brk     #1
        .size   scheduler_context, . - scheduler_context

        .section .note.GNU-stack, "", %progbits
