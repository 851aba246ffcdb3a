// Runs the client's compiled code: a thread from one operation to the next, from a copy of its
// stack. Local variables live in that copy and are never shared; all else is asked for.
#pragma once

#include "client/frames.h"
#include "client/operation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace prove {

// A thread between two operations: what its stack holds, from the stack pointer up; what is dead
// there is zero.
struct Stopped {
    uint64_t stack_pointer = 0;
    uint64_t frame = 0; // prove_client_frame
    std::vector<uint8_t> stack;
    Operation op; // what it asks for
};

class Native {
  public:
    // Runs prove_setup and keeps the memory that it leaves. Returns why it failed, or nothing.
    std::string set_up();
    // What `bytes` at an address held after set-up.
    uint64_t initial(uint64_t address, unsigned bytes) const;

    // A thread's first operation.
    void start(unsigned thread, Stopped &stopped);
    // Gives a thread the answer to its operation and runs it to the next.
    void resume(unsigned thread, uint64_t stack_pointer, uint64_t frame, const uint8_t *stack,
                size_t bytes, uint64_t answer, Stopped &stopped);
    // From now on what is dead on a thread's stack is junk when it goes on, by this seed: no
    // verdict and no count may change.
    void fill_dead_with_junk(uint64_t seed) { junk_ = seed; }

    // Runs prove_end or prove_invariant on memory as it stands: poke() it first. Returns why it
    // failed, or nullptr.
    const char *look(void (*function)());
    static void poke(uint64_t address, uint64_t value, unsigned bytes);

  private:
    void run(unsigned thread, uint64_t answer, Stopped &stopped);

    Frames frames_;
    uint64_t junk_ = 0;          // the state of its generator; 0: none
    std::vector<uint8_t> image_; // of the program's data
};

} // namespace prove
