/* The kernel in which threads of programs for the host itself sleep (monitor/park.h), for mutants
 * of that code, which are compiled with `-include` of this file. */
#ifndef LOCKCROSS_SLEEP_H
#define LOCKCROSS_SLEEP_H

#include <stdint.h>

void prove_wait(void);
void lock_sleep(volatile uint32_t *word, uint32_t value);
void lock_wake(volatile uint32_t *word);

void lock_sleep(volatile uint32_t *word, uint32_t value) {
    (void)word, (void)value;
    prove_wait();
}

void lock_wake(volatile uint32_t *word) { (void)word; }

#endif
