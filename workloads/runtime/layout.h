/* Sizes that C and assembly share. */
#ifndef RUNTIME_LAYOUT_H
#define RUNTIME_LAYOUT_H

#define RUNTIME_STACK_SIZE 16384 /* bytes of each thread's stack, in the image */
#define RUNTIME_FRAME 64 /* bytes; more than the smallest stack frame of POWER's ELFv2 ABI */

#endif
