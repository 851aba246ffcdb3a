// The core models on memory that another process simulates.
#include "../memory/scripted_simulator.h"
#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/core.h"
#include "core_models/make_core.h"
#include "isa/insn.h"
#include "memory/cache_hierarchy.h"
#include "memory/memory.h"

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <vector>

using namespace lockcross;

namespace {

enum class Op { Load, Store, Cas, Fence, Work };

struct Step {
    Op op;
    uint64_t address;
};

std::vector<Step> random_steps(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Step> steps;
    for (int i = 0; i < 300; i++)
        steps.push_back({Op(random() % 5), random() % 12 * 64 + random() % 8 * 8});
    return steps;
}

Insn insn_of(Op op) {
    Insn insn;
    if (op == Op::Fence) {
        insn.effect = Effect::Fence;
        insn.fence = Fence::Mfence;
    } else if (op != Op::Work) {
        insn.effect = op == Op::Cas ? Effect::Cas : Effect::Memory;
        insn.latency = op == Op::Load ? Latency::Load : insn.latency;
    }
    return insn;
}

// Runs the steps on core 0, each of them a block. Returns its cycles.
Cycle run(const Options &options, Memory &memory, Counts &counts, const std::vector<Step> &steps) {
    auto core = make_core(options, 0, memory, counts);
    std::vector<std::unique_ptr<Block>> blocks;
    core->start_at(0);
    uint64_t pc = 0x1000;
    for (const Step &step : steps) {
        BlockBuilder builder(options, pc);
        const TimedInsn *insn = builder.add(insn_of(step.op), pc, 4);
        pc += 4;
        blocks.push_back(builder.finish());
        core->begin_block(*blocks.back());
        if (step.op == Op::Fence) {
            core->fence(*insn);
        } else if (step.op != Op::Work) {
            core->before_access(*insn);
            if (step.op == Op::Load)
                core->load(*insn, step.address, 8);
            else if (step.op == Op::Store)
                core->store(*insn, step.address, 8);
            else
                core->cas(*insn, step.address, 8, true);
        }
    }
    core->end_block();
    CHECK(core->cycles() == core->stall_sum());
    return core->cycles();
}

// Every miss takes as long as the script's.
Options even_latencies() {
    Options options;
    options.lat_l2 = options.lat_memory = options.lat_upgrade = kLatency;
    return options;
}

} // namespace

TEST_CASE("linked cores: in order, one core takes the same cycles on either memory") {
    for (uint32_t seed = 0; seed < 50; seed++) {
        std::vector<Step> steps = random_steps(seed);
        Options options = even_latencies();
        std::vector<Counts> counts(1);
        CacheHierarchy built_in(options, 64, counts);
        Cycle expected = run(options, built_in, counts[0], steps);
        LinkedBench linked;
        CHECK(run(options, linked.memory, linked.counts[0], steps) == expected);
        CHECK(linked.memory.use()->late <= 2); // see linked_memory.h: none but a hit's latency
    }
}

TEST_CASE("linked cores: every core model runs on linked memory, twice in the same cycles") {
    for (uint32_t Options::*model : {&Options::pipeline, &Options::out_of_order}) {
        for (uint32_t seed = 0; seed < 20; seed++) {
            std::vector<Step> steps = random_steps(seed);
            Options options = even_latencies();
            options.*model = 1;
            Cycle cycles[2];
            for (Cycle &one : cycles) {
                LinkedBench linked;
                one = run(options, linked.memory, linked.counts[0], steps);
            }
            CHECK(cycles[0] == cycles[1]);
        }
    }
}
