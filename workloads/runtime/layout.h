/* What C and assembly must agree on. */
#ifndef RUNTIME_LAYOUT_H
#define RUNTIME_LAYOUT_H

#define RUNTIME_STACK_SIZE 16384 /* bytes of each thread's stack, in the image */
#define RUNTIME_FRAME 64         /* bytes: more than the smallest frame of POWER's ELFv2 */

#endif
