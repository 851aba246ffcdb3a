/* One turn of a waiting loop that ends by itself: in a model, which has no time, it is nothing. */
#ifndef LOCKCROSS_BOUNDED_SPIN_H
#define LOCKCROSS_BOUNDED_SPIN_H

#include "arch/arch.h"

static inline void bounded_spin(void) {
#ifndef LOCKCROSS_MODEL
    cpu_relax();
#endif
}

/* The same in a runtime that pauses on AArch64 by isb, too: Rust, and HotSpot on Neoverse. */
static inline void bounded_pause(void) {
#ifndef LOCKCROSS_MODEL
    cpu_pause();
#endif
}

#endif
