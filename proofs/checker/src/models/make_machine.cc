#include "models/interleaved.h"
#include "models/machine.h"

namespace prove {

std::unique_ptr<Machine> make_machine(Model model, Program &program, unsigned threads,
                                      const Bounds &bounds) {
    return std::make_unique<Interleaved>(program, threads, model, bounds);
}

} // namespace prove
