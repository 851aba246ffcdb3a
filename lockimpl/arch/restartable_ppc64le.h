/* Restartable sequences of POWER. */
#ifndef LOCKCROSS_ARCH_FILE
#error "include arch/restartable.h"
#endif

#define RESTARTABLE_ADDRESS(operand) "b"(operand)
#define RESTARTABLE_VALUE(operand) "r"(operand)
#define RESTARTABLE_CLOBBERS "cr0", "memory"
#define RESTARTABLE_CODE(store)                                                                    \
    "1: lwz %[word], 0(%[p])\n\t"                                                                  \
    "and %[next], %[word], %[mask]\n\t"                                                            \
    "cmplw %[next], %[expected]\n\t"                                                               \
    "bne- %l[refused]\n\t"                                                                         \
    "and %[next], %[word], %[field]\n\t"                                                           \
    "cmplw %[next], %[except]\n\t"                                                                 \
    "beq- %l[refused]\n\t"                                                                         \
    "add %[next], %[word], %[add]\n\t" store "\n"                                                  \
    "2:\n\t"
#define RESTARTABLE_STORE "stw %[next], 0(%[p])"

/* A register that calls preserve. `next` is free again after the store. */
#define RESTARTABLE_PREDICATE "r14"
#define RESTARTABLE_SET_TRUE "mr 14, %[p]\n\t"
#define RESTARTABLE_STORE_IF_TRUE "stw %[next], 0(14)"
#define RESTARTABLE_IF_OWN(label)                                                                  \
    "lwz %[next], 0(%[own])\n\tcmplwi %[next], 0\n\tbne- %l[" label "]"

/* flags, link, stack and signal mask, 168 bytes; eight words before the registers; then r0 to r31,
 * nip */
enum { CONTEXT_PC = 168 + 8 * 8 + 32 * 8, CONTEXT_PREDICATE = 168 + 8 * 8 + 14 * 8 };
