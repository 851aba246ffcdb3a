// Switches between the checker and the client's thread that runs, each on a stack of its own.
#pragma once

#include <cstdint>

extern "C" {

// Stack pointers of the two while they do not run.
extern uint64_t prove_client_stack, prove_checker_stack;

// On the client's stack: to the checker. Returns what the checker passes when it comes back.
uint64_t prove_to_checker();
// On the checker's stack: to the client, to which prove_to_checker() returns `value`.
void prove_to_client(uint64_t value);
// Where the client that runs called the checker last: what its registers held, from rbx down to
// r15, and above them the return address. 0 if that is not known.
extern uint64_t prove_client_frame;
// Where the client's calls come in, for the function in r11: saves the registers that this must
// keep, and clears them and the stack below. So nothing but the call tells what that holds.
void prove_enter();
// Where a new stack begins: calls prove_begin(index), with the index in the saved register r12, and
// then prove_finish().
void prove_begin_stack();
void prove_begin(uint64_t index);
[[noreturn]] void prove_finish();
}

namespace prove {

inline constexpr unsigned kSavedRegisters = 6; // and the return address above them
inline constexpr unsigned kSavedR12 = 3;       // its place among them, from the stack pointer

} // namespace prove
