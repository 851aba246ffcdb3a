#include "base/options.h"
#include "base/registers.h"
#include "core/schedule.h"
#include "isa/insn.h"

#include <cstdint>
#include <doctest/doctest.h>
#include <utility>
#include <vector>

using namespace lockcross;

namespace {

RegisterSet reg(unsigned n) { return register_bit(n); }

Insn alu(RegisterSet reads, RegisterSet writes) {
    Insn insn;
    insn.reads = reads;
    insn.writes = writes;
    return insn;
}

Insn load(RegisterSet address, RegisterSet target) {
    Insn insn = alu(address, target);
    insn.effect = Effect::Memory;
    insn.latency = Latency::Load;
    return insn;
}

Schedule schedule_of(const Options &options, const std::vector<Insn> &insns) {
    Scheduler scheduler(options);
    uint64_t address = 0x1000;
    for (const Insn &insn : insns) {
        scheduler.place(insn, address, 4);
        address += 4;
    }
    return scheduler.finish();
}

Options with_width(uint32_t width) {
    Options options;
    options.width = width;
    options.lat_l1 = 3;
    return options;
}

} // namespace

TEST_CASE("schedule: width 1 and unit latencies cost a cycle an instruction") {
    Schedule schedule =
        schedule_of(with_width(1), {alu(0, reg(1)), alu(reg(1), reg(2)), alu(reg(2), reg(3))});
    CHECK(schedule.length == 3);
    CHECK(schedule.issue_cycles == 3);
}

TEST_CASE("schedule: width 2 pairs independent instructions only") {
    CHECK(schedule_of(with_width(2), {alu(0, reg(1)), alu(0, reg(2))}).length == 1);
    CHECK(schedule_of(with_width(2), {alu(0, reg(1)), alu(reg(1), reg(2))}).length == 2);
    CHECK(schedule_of(with_width(2), {load(0, reg(1)), load(0, reg(2))}).length == 2); // one port
    CHECK(schedule_of(with_width(2), {alu(0, reg(1)), alu(0, reg(2)), alu(0, reg(3))}).length == 2);
}

TEST_CASE("schedule: a use waits for its load") {
    Schedule schedule = schedule_of(with_width(1), {load(reg(1), reg(2)), alu(reg(2), reg(3))});
    CHECK(schedule.length == 4); // load at 0, use at 3
    CHECK(schedule.issue_cycles == 2);
}

TEST_CASE("schedule: multiplication and division have their own latencies") {
    Options options = with_width(1);
    for (auto [latency, cycles] :
         {std::pair{Latency::Mul, options.lat_mul}, {Latency::Div, options.lat_div}}) {
        Insn slow = alu(0, reg(1));
        slow.latency = latency;
        CHECK(schedule_of(options, {slow, alu(reg(1), reg(2))}).length == cycles + 1);
    }
}

TEST_CASE("schedule: an update form's address is ready at once") {
    Insn update = load(reg(1), reg(2));
    update.address_writes = reg(1);
    CHECK(schedule_of(with_width(1), {update, alu(reg(1), reg(3))}).length == 2);
}

TEST_CASE("schedule: late results delay the next block, less what it does before it needs them") {
    Options options = with_width(1);
    Schedule producer = schedule_of(options, {load(reg(1), reg(2))}); // ready at 3, ends at 1
    Schedule at_once = schedule_of(options, {alu(reg(2), reg(3))});
    Schedule later = schedule_of(options, {alu(0, reg(4)), alu(reg(2), reg(3))});
    Schedule overwritten = schedule_of(options, {alu(0, reg(2)), alu(reg(2), reg(3))});
    CHECK(producer.delay_of(at_once) == 2);
    CHECK(producer.delay_of(at_once) == 2); // from the kept value
    CHECK(producer.delay_of(later) == 1);
    CHECK(producer.delay_of(overwritten) == 0);
    CHECK(producer.delay_of(at_once) == 2);
}

TEST_CASE("schedule: an instruction is placed in its issue cycle") {
    Options options = with_width(1);
    Scheduler scheduler(options);
    CHECK(scheduler.place(load(reg(1), reg(2)), 0, 4) == 0);
    CHECK(scheduler.place(alu(reg(2), reg(3)), 4, 4) == 3);
    CHECK(scheduler.place(load(reg(3), reg(4)), 8, 4) == 4);
}

namespace {

// The schedule of instructions of these sizes, one after another.
struct Fetched {
    uint32_t length, fetch_cycles, issue_cycles;
};

Fetched fetched(uint32_t chunk, uint32_t width, const std::vector<uint32_t> &sizes,
                uint64_t from = 0x1000) {
    Options options = with_width(width);
    options.fetch_bytes = chunk;
    Scheduler scheduler(options);
    uint64_t address = from;
    for (uint32_t size : sizes) {
        scheduler.place(alu(0, 0), address, size);
        address += size;
    }
    Schedule schedule = scheduler.finish();
    return {schedule.length, schedule.fetch_cycles, schedule.issue_cycles};
}

} // namespace

TEST_CASE("schedule: an instruction in several chunks takes a cycle for each") {
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

TEST_CASE("schedule: what is still being fetched does not issue with the one before") {
    CHECK(fetched(8, 2, {4, 4}).length == 1);
    CHECK(fetched(8, 2, {7, 2}).length == 3);
}

TEST_CASE("schedule: fetch goes on while a result is awaited") {
    Options options = with_width(1); // a load's use waits to cycle 3
    options.fetch_bytes = 8;
    Scheduler scheduler(options);
    scheduler.place(load(reg(1), reg(2)), 0, 7);
    scheduler.place(alu(reg(2), reg(3)), 7, 2);
    Schedule schedule = scheduler.finish();
    CHECK(schedule.length == 4);
    CHECK(schedule.fetch_cycles == 1);
    CHECK(schedule.issue_cycles == 2);
}
