/* Sizes and numbers that C and assembly share. */
#ifndef RUNTIME_LAYOUT_H
#define RUNTIME_LAYOUT_H

#define RUNTIME_STACK_SIZE 16384 /* bytes of each thread's stack, in the image */
#define RUNTIME_FRAME 64 /* bytes; more than the smallest stack frame of POWER's ELFv2 ABI */

/* How a program serves: its markers (docs/interfaces.md, section 5); bytes of what a child finds as
 * its kernel's stack; bytes between the code of a run and what follows. */
#define RUNTIME_SYS_MARKER 19544
#define RUNTIME_MARKER_SERVE 7
#define RUNTIME_MARKER_FORKED 8
#define RUNTIME_SIGCHLD 17
#define RUNTIME_ARGUMENTS_SIZE 8192
#define RUNTIME_ASTRAY 256

#endif
