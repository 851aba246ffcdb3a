/* Restartable sequences of x86-64. */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/restartable.h"
#endif

#define RESTARTABLE_ADDRESS(operand) "r"(operand)
#define RESTARTABLE_VALUE(operand) "ri"(operand)
#define RESTARTABLE_CLOBBERS "cc", "memory"
#define RESTARTABLE_CODE(store)                                                                    \
    "1: movl (%[p]), %[word]\n\t"                                                                  \
    "movl %[word], %[next]\n\t"                                                                    \
    "andl %[mask], %[next]\n\t"                                                                    \
    "cmpl %[expected], %[next]\n\t"                                                                \
    "jne %l[refused]\n\t"                                                                          \
    "movl %[word], %[next]\n\t"                                                                    \
    "andl %[field], %[next]\n\t"                                                                   \
    "cmpl %[except], %[next]\n\t"                                                                  \
    "je %l[refused]\n\t"                                                                           \
    "movl %[word], %[next]\n\t"                                                                    \
    "addl %[add], %[next]\n\t" store "\n"                                                          \
    "2:\n\t"
#define RESTARTABLE_STORE "movl %[next], (%[p])"

#define RESTARTABLE_PREDICATE "r15"
#define RESTARTABLE_SET_TRUE "movq %[p], %%r15\n\t"
#define RESTARTABLE_STORE_IF_TRUE "movl %[next], (%%r15)"
#define RESTARTABLE_IF_OWN(label) "cmpl $0, (%[own])\n\tjne %l[" label "]"

/* flags, link and stack, 40 bytes; then r8 to r15, eight more, rip */
enum { CONTEXT_PC = 40 + 16 * 8, CONTEXT_PREDICATE = 40 + 7 * 8 };
