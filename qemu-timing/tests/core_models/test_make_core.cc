#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/core.h"
#include "core_models/make_core.h"
#include "isa/insn.h"
#include "memory/line_id.h"
#include "memory/memory.h"

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>

using namespace lockcross;

namespace {

// Memory without caches: every access takes the same time.
class FlatMemory final : public Memory {
  public:
    static constexpr Cycle kLatency = 77;
    AccessDelay read(uint32_t, LineId, Cycle) override { return {0, kLatency, Stall::Memory}; }
    AccessDelay get_exclusive(uint32_t, LineId, Cycle, CoherenceEvent) override {
        return {0, kLatency, Stall::Memory};
    }
    void write_in_flight_until(uint32_t, LineId, Cycle) override {}
    bool is_exclusive(uint32_t, LineId) const override { return false; }
    bool has_copy(uint32_t, LineId) const override { return false; }
    void reserve(uint32_t, LineId line) override { reserved_ = line; }
    bool is_reserved(uint32_t) const override { return reserved_ != kNoLine; }
    void clear_reservation(uint32_t) override { reserved_ = kNoLine; }

  private:
    LineId reserved_ = kNoLine;
};

} // namespace

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
