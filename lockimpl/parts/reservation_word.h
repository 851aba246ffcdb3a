/*
 * The lock word of reservation.h, which has a diagram of it. Its base mode is the flat lock of
 * tasuki_spin.h, with a nest count that is one bit narrower.
 */
#ifndef LOCKCROSS_RESERVATION_WORD_H
#define LOCKCROSS_RESERVATION_WORD_H

#include <stdint.h>

#define SPIN_SHAPE 0x80000000u
#define SPIN_MONITOR_SHIFT 9
#define SPIN_COUNT 0x0000fe00u
#define SPIN_COUNT_ONE 0x00000200u
#define SPIN_COUNT_FIRST SPIN_COUNT_ONE
#define RESERVATION_LRV 0x00000100u
#define RESERVATION_TID 0x7fff0000u

#include "parts/tasuki_spin.h"

/* The equivalent word of the base mode (Base_equivalent_lockword): held as often by the same
 * thread, or free, which in the base mode is a word without a tid. */
static inline uint32_t reservation_base_word(uint32_t word) {
    return word & SPIN_COUNT ? word & ~RESERVATION_LRV : word & SPIN_MISC;
}

#endif
