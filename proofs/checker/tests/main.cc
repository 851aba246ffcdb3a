#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "prove.h"

// The library needs a client; what it does is tested by clients themselves
// (tests/proofs/test_checker.py).
extern "C" {
const unsigned prove_threads = 1;
void prove_setup() {}
void prove_thread(unsigned) {}
void prove_end() {}
}
