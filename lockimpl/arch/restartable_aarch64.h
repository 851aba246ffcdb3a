/* Restartable sequences of AArch64, the same with both atomic flavours. */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/restartable.h"
#endif

#define RESTARTABLE_ADDRESS(operand) "r"(operand)
#define RESTARTABLE_VALUE(operand) "r"(operand)
#define RESTARTABLE_CLOBBERS "cc", "memory"
#define RESTARTABLE_CODE(store)                                                                    \
    "1: ldr %w[word], [%[p]]\n\t"                                                                  \
    "and %w[next], %w[word], %w[mask]\n\t"                                                         \
    "cmp %w[next], %w[expected]\n\t"                                                               \
    "b.ne %l[refused]\n\t"                                                                         \
    "and %w[next], %w[word], %w[field]\n\t"                                                        \
    "cmp %w[next], %w[except]\n\t"                                                                 \
    "b.eq %l[refused]\n\t"                                                                         \
    "add %w[next], %w[word], %w[add]\n\t" store "\n"                                               \
    "2:\n\t"
#define RESTARTABLE_STORE "str %w[next], [%[p]]"

/* A register that calls preserve. `next` is free again after the store. */
#define RESTARTABLE_PREDICATE "x28"
#define RESTARTABLE_SET_TRUE "mov x28, %[p]\n\t"
#define RESTARTABLE_STORE_IF_TRUE "str %w[next], [x28]"
#define RESTARTABLE_IF_OWN(label) "ldr %w[next], [%[own]]\n\tcbnz %w[next], %l[" label "]"

/* flags, link, stack and signal mask, 168 bytes, to a multiple of 16; the fault address; then x0 to
 * x30, sp, pc */
enum { CONTEXT_PC = 176 + 8 + 32 * 8, CONTEXT_PREDICATE = 176 + 8 + 28 * 8 };
