#include "block.h"

#include <doctest/doctest.h>

using namespace lockcross;

namespace {

uint64_t reg(unsigned n) { return uint64_t(1) << n; }

Insn alu(uint64_t reads, uint64_t writes) {
    Insn insn;
    insn.reads = reads;
    insn.writes = writes;
    return insn;
}

Insn load(uint64_t address, uint64_t target) {
    Insn insn = alu(address, target);
    insn.effect = Effect::Memory;
    insn.latency = Latency::Load;
    return insn;
}

std::unique_ptr<Block> block_of(const Options &options, const std::vector<Insn> &insns) {
    BlockBuilder builder(options, 0x1000);
    uint64_t address = 0x1000;
    for (const Insn &insn : insns) {
        builder.add(insn, address, 4);
        address += 4;
    }
    return builder.finish();
}

Options with_width(uint32_t width) {
    Options options;
    options.width = width;
    options.lat_l1 = 3;
    return options;
}

} // namespace

TEST_CASE("block: width 1 and unit latencies cost a cycle an instruction") {
    auto block =
        block_of(with_width(1), {alu(0, reg(1)), alu(reg(1), reg(2)), alu(reg(2), reg(3))});
    CHECK(block->length == 3);
    CHECK(block->issue_cycles == 3);
    CHECK(block->instructions == 3);
    CHECK(block->fallthrough == 0x100c);
}

TEST_CASE("block: width 2 pairs independent instructions only") {
    CHECK(block_of(with_width(2), {alu(0, reg(1)), alu(0, reg(2))})->length == 1);
    CHECK(block_of(with_width(2), {alu(0, reg(1)), alu(reg(1), reg(2))})->length == 2);
    CHECK(block_of(with_width(2), {load(0, reg(1)), load(0, reg(2))})->length == 2); // one port
    CHECK(block_of(with_width(2), {alu(0, reg(1)), alu(0, reg(2)), alu(0, reg(3))})->length == 2);
}

TEST_CASE("block: a use waits for its load") {
    auto block = block_of(with_width(1), {load(reg(1), reg(2)), alu(reg(2), reg(3))});
    CHECK(block->length == 4); // load at 0, use at 3
    CHECK(block->issue_cycles == 2);
}

TEST_CASE("block: multiplication and division have their own latencies") {
    Options options = with_width(1);
    for (auto [latency, cycles] :
         {std::pair{Latency::Mul, options.lat_mul}, {Latency::Div, options.lat_div}}) {
        Insn slow = alu(0, reg(1));
        slow.latency = latency;
        CHECK(block_of(options, {slow, alu(reg(1), reg(2))})->length == cycles + 1);
    }
}

TEST_CASE("block: an update form's address is ready at once") {
    Insn update = load(reg(1), reg(2));
    update.address_write = reg(1);
    CHECK(block_of(with_width(1), {update, alu(reg(1), reg(3))})->length == 2);
}

TEST_CASE("block: results that are late make the next block wait, less what it does before") {
    Options options = with_width(1);
    auto producer = block_of(options, {load(reg(1), reg(2))}); // ready at 3, block ends at 1
    auto at_once = block_of(options, {alu(reg(2), reg(3))});
    auto later = block_of(options, {alu(0, reg(4)), alu(reg(2), reg(3))});
    auto never = block_of(options, {alu(0, reg(2)), alu(reg(2), reg(3))}); // overwritten before use
    CHECK(producer->wait_of(*at_once) == 2);
    CHECK(producer->wait_of(*at_once) == 2); // from the kept value
    CHECK(producer->wait_of(*later) == 1);
    CHECK(producer->wait_of(*never) == 0);
    CHECK(producer->wait_of(*at_once) == 2);
}

TEST_CASE("block: steps stand at their issue cycle") {
    Options options = with_width(1);
    BlockBuilder builder(options, 0);
    builder.add(load(reg(1), reg(2)), 0, 4);
    CHECK(builder.add(alu(reg(2), reg(3)), 4, 4) == nullptr);
    Step *second = builder.add(load(reg(3), reg(4)), 8, 4);
    REQUIRE(second != nullptr);
    CHECK(second->offset == 4);
}
