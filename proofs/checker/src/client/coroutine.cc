#include "client/coroutine.h"

#if !defined(__x86_64__)
#error "the checker runs on x86-64: another host needs its own switch of stacks"
#endif

uint64_t prove_client_stack, prove_checker_stack, prove_client_frame;

// Only what a called function must keep is saved: the rest is dead at a call.
asm(R"(
    .text
    .globl prove_to_checker
    .type prove_to_checker, @function
prove_to_checker:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, prove_client_stack(%rip)
    movq prove_checker_stack(%rip), %rsp
    jmp 1f

    .globl prove_to_client
    .type prove_to_client, @function
prove_to_client:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, prove_checker_stack(%rip)
    movq prove_client_stack(%rip), %rsp
    movq %rdi, %rax
1:
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret

    .globl prove_begin_stack
    .type prove_begin_stack, @function
prove_begin_stack:
    movq %r12, %rdi
    call prove_begin
    leaq prove_finish(%rip), %r11
    call prove_enter
    ud2

    .globl prove_enter
    .type prove_enter, @function
prove_enter:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, prove_client_frame(%rip)
    movq %rdi, %rbx
    movq %rcx, %rbp
    leaq -2048(%rsp), %rdi
    movl $256, %ecx
    xorl %eax, %eax
    rep stosq
    movq %rbx, %rdi
    movq %rbp, %rcx
    xorl %ebx, %ebx
    xorl %ebp, %ebp
    xorl %r12d, %r12d
    xorl %r13d, %r13d
    xorl %r14d, %r14d
    xorl %r15d, %r15d
    subq $8, %rsp
    call *%r11
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
    .section .note.GNU-stack,"",@progbits
    .text
)");
