// One core of any model that runs one instruction after another, each of them a block. The memory
// may have more cores, whose accesses a test makes itself.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "isa/insn.h"
#include "memory/cache_hierarchy.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <doctest/doctest.h>
#include <memory>
#include <vector>

namespace lockcross {

template <typename CoreModel> struct CoreBench {
    Options options;
    std::vector<Counts> counts;
    CacheHierarchy memory;
    CoreModel core;
    std::deque<std::unique_ptr<Block>> blocks;
    uint64_t pc = 0x1000;

    explicit CoreBench(Options o, size_t cores = 1)
        : options(o), counts(cores), memory(options, 4096, counts),
          core(options, 0, memory, counts[0]) {
        core.start_at(100);
    }

    const TimedInsn *begin(const Insn &insn) {
        BlockBuilder builder(options, pc);
        const TimedInsn *timed = builder.add(insn, pc, 4);
        pc += 4;
        blocks.push_back(builder.finish());
        core.begin_block(*blocks.back());
        return timed;
    }
    void load(uint64_t address, uint32_t size, const Insn &insn) {
        const TimedInsn *timed = begin(insn);
        core.before_access(*timed);
        core.load(*timed, address, size);
    }
    void store(uint64_t address, uint32_t size, const Insn &insn) {
        const TimedInsn *timed = begin(insn);
        core.before_access(*timed);
        core.store(*timed, address, size);
    }
    void cas(uint64_t address, uint32_t size, const Insn &insn) {
        const TimedInsn *timed = begin(insn);
        core.before_access(*timed);
        core.cas(*timed, address, size, true);
    }
    void rmw(uint64_t address, uint32_t size, const Insn &insn) {
        const TimedInsn *timed = begin(insn);
        core.before_access(*timed);
        core.rmw(*timed, address, size);
    }
    void fence(Fence kind) {
        Insn insn;
        insn.effect = Effect::Fence;
        insn.fence = kind;
        core.fence(*begin(insn));
    }
    void end() {
        core.end_block();
        CHECK(core.cycles() == core.stall_sum());
    }
    uint64_t stalled(Stall cause) const { return counts[0].stalls[size_t(cause)]; }
};

} // namespace lockcross
