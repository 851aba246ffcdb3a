#include "../memory/flat_memory.h"
#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/core.h"
#include "core_models/make_core.h"
#include "isa/insn.h"

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>

using namespace lockcross;

TEST_CASE("core models: every one runs on any memory system") {
    for (uint32_t Options::*model :
         {&Options::blocking, &Options::pipeline, &Options::out_of_order}) {
        Options options;
        options.*model = 1;
        if (model == &Options::blocking) // a scheduled core, which is none of these
            options.blocking = 0;
        FlatMemory memory;
        Counts counts;
        auto core = make_core(options, 0, memory, counts);
        core->start_at(5);
        Insn insn;
        insn.effect = Effect::Memory;
        insn.latency = Latency::Load;
        BlockBuilder builder(options, 0x1000);
        const TimedInsn *load = builder.add(insn, 0x1000, 4);
        auto block = builder.finish();
        core->begin_block(*block);
        core->before_access(*load);
        core->load(*load, 0, 8);
        core->end_block();
        CHECK(counts.stalls[size_t(Stall::Memory)] == FlatMemory::kLatency);
        CHECK(core->cycles() == core->stall_sum());
    }
}
