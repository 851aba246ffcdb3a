// What the client's calls and the checker share about the thread that runs.
#pragma once

#include "client/operation.h"

#include <cstdint>

namespace prove {

struct Running {
    // Accesses go straight to memory: set-up, end, invariant.
    bool direct = true;
    // The client's code runs, not the checker's.
    bool client = false;
    bool weak = false;                      // the model is one of the weak ones
    bool tso = false;                       // or one with store buffers
    uint64_t stack_low = 0, stack_high = 0; // of the thread that runs
    uint64_t all_stacks_low = 0, all_stacks_high = 0;
    // A plain store is announced before it is made: its value is read from memory at the next call.
    uint64_t stored_address = 0, stored_bytes = 0, stored_return_address = 0;
    Operation request;
};
extern Running running;

} // namespace prove
