/* Added latency on POWER; see arch/latency.h. gem5 has no m5 operations there, so no quiesce,
 * and one class (FloatAdd) for all floating point, so one sentinel. The program itself uses none.
 */
#ifndef LOCKCROSS_LATENCY_H
#error "include arch/latency.h"
#endif

/* A sum (gem5's class FloatAdd) of `after`, and one operation that waits for it. Integer and
 * floating-point registers exchange values through memory on POWER. */
static inline void latency_sentinel_atomic(uint64_t after) {
    volatile uint64_t place = after;
    __asm__ volatile("lfd 0, %[place]\n\t"
                     "fadd 0, 0, 0\n\t"
                     "stfd 0, %[place]"
                     : [place] "+m"(place)
                     :
                     : "memory");
    after = place;
    __asm__ volatile("andi. %[value], %[value], 0" : [value] "+r"(after) : : "cr0");
}

/* `turns` turns of a loop that begins when `after` is known. */
static inline void latency_pad(uint64_t turns, uint32_t after) {
    uint64_t left = after;
    __asm__ volatile("andi. %[left], %[left], 0\n\t"
                     "add. %[left], %[left], %[turns]\n\t"
                     "beq 2f\n\t"
                     "mtctr %[left]\n\t"
                     ".p2align 5\n"
                     "1: bdnz 1b\n"
                     "2:"
                     : [left] "+&b"(left)
                     : [turns] "r"(turns)
                     : "ctr", "cr0", "memory");
}
