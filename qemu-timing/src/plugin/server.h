// A process that runs many cells of one program: QEMU, the program and this plugin are loaded once,
// and the program forks a child for each cell (workloads/runtime/start_*.S). What depends on the
// cell's options is made in the child.
//
// Standard input is a socket of packets. A request is made of strings, each with a NUL behind it:
// the folder in which the child is to run, the CPUs that it may use ("0,1"), how many options
// follow, these options, and the program's arguments. The server says "started PID", or "refused"
// where it cannot do it, and "ended PID CODE" when a child has ended,
// with the number of a signal negated. It ends when the other side closes the socket, and a child
// ends with it.
#pragma once

#include <cstdint>

namespace lockcross {

// Waits for a request, and writes its arguments to `place` as a kernel would write a stack.
void serve(uint64_t place, uint64_t size);
// After the fork: in the server, with the child's number; in the child, with 0.
void forked(int64_t pid);

} // namespace lockcross
