#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "prove.h"

// The library needs a client. What its threads do is in models/explored.cc; the rest of the
// interface is tested by clients themselves (tests/proofs/test_checker.py).
extern "C" {
const unsigned prove_threads = 1;
void prove_setup() {}
void prove_end() {}
}
