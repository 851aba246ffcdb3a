/* x86-64: the context of a thread is its stack pointer; the registers that calls preserve are on its
 * stack. The general registers are all that programs use. */

        .text
/* void scheduler_switch(void **save, void *context) */
        .globl  scheduler_switch
        .type   scheduler_switch, @function
scheduler_switch:
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        ret
        .size   scheduler_switch, . - scheduler_switch

/* void *scheduler_context(void *stack_top, unsigned thread): the switch to it pops rbx, the number,
 * and returns to 1f. */
        .globl  scheduler_context
        .type   scheduler_context, @function
scheduler_context:
        leaq    1f(%rip), %rax
        movq    %rax, -24(%rdi)
        movq    $0, -32(%rdi)           /* rbp: the end of the chain of frames */
        movl    %esi, %esi
        movq    %rsi, -40(%rdi)
        leaq    -72(%rdi), %rax
        ret
1:      movl    %ebx, %edi              /* rsp is a multiple of 16, as stack_top was */
        call    scheduler_begin
        ud2
        .size   scheduler_context, . - scheduler_context

        .section .note.GNU-stack, "", %progbits
