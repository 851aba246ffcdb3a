#include "models/interleaved.h"
#include "models/machine.h"
#include "models/weak.h"

namespace prove {

std::unique_ptr<Machine> make_machine(Model model, Program &program, unsigned threads,
                                      const Bounds &bounds) {
    if (model == Model::kWeak || model == Model::kWeakSi)
        return std::make_unique<Weak>(program, threads, model);
    return std::make_unique<Interleaved>(program, threads, model, bounds);
}

} // namespace prove
