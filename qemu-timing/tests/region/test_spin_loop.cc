#include "base/options.h"
#include "base/registers.h"
#include "core/block.h"
#include "isa/insn.h"
#include "region/spin_loop.h"

#include <cstdint>
#include <doctest/doctest.h>
#include <memory>

using namespace lockcross;

namespace {

// while (load(r1) is not what it should be) {} : a load into r2, a comparison, a branch.
struct Loop {
    Options options;
    std::unique_ptr<Block> block;
    const TimedInsn *load = nullptr;

    // carried: a register that the loop reads before it writes it, as a counter.
    explicit Loop(RegisterSet carried = 0) {
        BlockBuilder builder(options, 0x1000);
        Insn access;
        access.effect = Effect::Memory;
        access.reads = register_bit(1);
        access.writes = register_bit(2);
        load = builder.add(access, 0x1000, 4);
        Insn compare;
        compare.reads = register_bit(2) | carried;
        compare.writes = register_bit(32) | carried;
        builder.add(compare, 0x1004, 4);
        Insn branch;
        branch.reads = register_bit(32);
        branch.branch = Branch::Conditional;
        builder.add(branch, 0x1008, 4);
        block = builder.finish();
    }
};

void go_round(SpinLoop &spin, const Loop &loop, uint64_t address = 64) {
    spin.begin_block(*loop.block);
    spin.load(*loop.load, address, 4);
}

} // namespace

TEST_CASE("spin loop: one that repeats a load is known after two iterations") {
    Loop loop;
    SpinLoop spin;
    spin.watch();
    for (int iteration = 0; iteration < 2; iteration++) {
        go_round(spin, loop);
        CHECK_FALSE(spin.repeats_at(*loop.load));
    }
    spin.begin_block(*loop.block);
    CHECK(spin.repeats_at(*loop.load));
    auto steps = spin.iteration();
    REQUIRE(steps.size() == 2); // the load first, then the block of the next iteration
    CHECK(steps[0].address == 64);
    CHECK(steps[1].block == loop.block.get());
}

TEST_CASE("spin loop: a counter, another address or a store make it none") {
    Loop counting(register_bit(5)), loop;
    SpinLoop spin;
    spin.watch();
    for (int iteration = 0; iteration < 4; iteration++)
        go_round(spin, counting);
    spin.begin_block(*counting.block);
    CHECK_FALSE(spin.repeats_at(*counting.load));

    spin.forget();
    CHECK_FALSE(spin.watching());
    spin.watch();
    for (uint64_t iteration = 0; iteration < 4; iteration++)
        go_round(spin, loop, 64 * iteration);
    spin.begin_block(*loop.block);
    CHECK_FALSE(spin.repeats_at(*loop.load));

    spin.forget(); // what a store, an atomic or a charge does
    spin.watch();
    go_round(spin, loop);
    spin.begin_block(*loop.block);
    CHECK_FALSE(spin.repeats_at(*loop.load));
}

TEST_CASE("spin loop: what began in the middle of a block is not taken for a loop") {
    Loop loop;
    SpinLoop spin;
    spin.watch();
    spin.load(*loop.load, 64, 4);
    go_round(spin, loop);
    spin.begin_block(*loop.block);
    CHECK_FALSE(spin.repeats_at(*loop.load));
}
