#include "core/block.h"

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

namespace {

// Cycles of instructions of these sizes, one after another from 0x1000, and those of the fetch.
struct Fetched {
    uint32_t length, fetch_cycles, issue_cycles;
};

Fetched fetched(uint32_t chunk, uint32_t width, const std::vector<uint32_t> &sizes,
                uint64_t from = 0x1000) {
    Options options = with_width(width);
    options.fetch_bytes = chunk;
    BlockBuilder builder(options, from);
    uint64_t address = from;
    for (uint32_t size : sizes) {
        builder.add(alu(0, 0), address, size);
        address += size;
    }
    auto block = builder.finish();
    return {block->length, block->fetch_cycles, block->issue_cycles};
}

} // namespace

TEST_CASE("block: an instruction in several chunks takes a cycle for each") {
    struct {
        uint32_t chunk;
        std::vector<uint32_t> sizes;
        uint32_t fetch_cycles;
    } cases[] = {
        {0, {7, 7, 7}, 0},     // no fetch
        {8, {4, 4, 4}, 0},     // fixed length: never across
        {8, {7, 1, 8}, 0},     // up to the last byte
        {8, {7, 2}, 1},        // the second across
        {8, {7, 7, 7}, 2},     // bytes 0-6, 7-13, 14-20
        {8, {7, 10}, 2},       // bytes 7-16: three chunks
        {8, {1, 15}, 1},       // the longest instruction, to the end of a chunk
        {16, {7, 7, 7}, 1},    // bytes 14-20
        {4, {4, 5, 4}, 2},     // bytes 4-8 and 9-12
        {1, {1, 3}, 2},        // a byte a cycle
        {64, {15, 15, 15}, 0}, // a line
    };
    for (const auto &c : cases) {
        Fetched found = fetched(c.chunk, 1, c.sizes);
        CAPTURE(c.chunk);
        CHECK(found.fetch_cycles == c.fetch_cycles);
        CHECK(found.issue_cycles == c.sizes.size());
        CHECK(found.length == c.sizes.size() + c.fetch_cycles);
    }
    CHECK(fetched(8, 1, {4}, 0x1006).length == 2); // the first of a block
}

TEST_CASE("block: what is still being fetched does not issue with the one before") {
    CHECK(fetched(8, 2, {4, 4}).length == 1);
    CHECK(fetched(8, 2, {7, 2}).length == 3);
}

TEST_CASE("block: the fetch goes on while a result is awaited") {
    Options options = with_width(1); // a load's use waits to cycle 3
    options.fetch_bytes = 8;
    BlockBuilder builder(options, 0);
    builder.add(load(reg(1), reg(2)), 0, 7);
    builder.add(alu(reg(2), reg(3)), 7, 2);
    auto block = builder.finish();
    CHECK(block->length == 4);
    CHECK(block->fetch_cycles == 1);
    CHECK(block->issue_cycles == 2);
}
