/* The permit of park.h where two may become one (PERMITS_MEET). */
#ifndef LOCKCROSS_PERMITS_H
#define LOCKCROSS_PERMITS_H

#include <stdint.h>

#include "arch/arch.h"

static inline void permit_take(volatile uint32_t *permit) { swap_acq_rel_u32(permit, 0); }

static inline void permit_give(volatile uint32_t *permit) { swap_acq_rel_u32(permit, 1); }

#endif
