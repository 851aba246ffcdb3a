/* Lines of memory, each with a pointer to another: a cycle through all of them in an order that no
 * prefetcher foresees, so that following it takes one load after the other. */
#ifndef KERNELS_CHASE_H
#define KERNELS_CHASE_H
#include <stdint.h>

#ifdef __powerpc64__
#define CHASE_LINE 128
#else
#define CHASE_LINE 64
#endif

typedef struct chase {
    struct chase *volatile next;
    volatile uint32_t count; /* for whoever writes to the line */
} __attribute__((aligned(CHASE_LINE))) chase_t;

/* The place behind `place` in the cycle through `count` places. The generator's period is the power
 * of two at or above `count`; what lies beyond is passed over. */
static inline uint64_t chase_behind(uint64_t place, uint64_t count) {
    uint64_t mask = 0;
    while (mask < count - 1)
        mask = 2 * mask + 1;
    do
        place = (place * 6364136223846793005u + 1442695040888963407u) & mask;
    while (place >= count);
    return place;
}

static inline void chase_link(chase_t *lines, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        lines[i].next = &lines[chase_behind(i, count)];
}

#endif
