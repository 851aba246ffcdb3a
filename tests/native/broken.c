/* broken: the conformance kernel, to be built with a lock that is broken (broken/locks/broken.h).
 */
#include "kernels/conformance.c"
