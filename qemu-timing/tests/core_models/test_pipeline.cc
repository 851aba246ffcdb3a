#include "base/counts.h"
#include "base/options.h"
#include "base/registers.h"
#include "core_models/pipelined/functional_unit.h"
#include "core_models/pipelined/line_fetch.h"
#include "core_models/pipelined/pipeline.h"
#include "isa/micro_ops.h"

#include <cstddef>
#include <doctest/doctest.h>
#include <vector>

using namespace lockcross;

namespace {

Options minor() {
    Options options;
    options.width = 2;
    options.pipeline = 1;
    options.taken_branch = 2;
    options.mispredict = 8;
    options.lat_mul = 3;
    options.lat_div = 9;
    return options;
}

RegisterSet reg(unsigned n) { return register_bit(n); }

MicroOp simple(RegisterSet reads, RegisterSet writes) {
    MicroOp op;
    op.reads = reads;
    op.writes = writes;
    op.first = true;
    op.size = 1; // all are in one line of code
    return op;
}
MicroOp of(Unit unit, RegisterSet reads, RegisterSet writes) {
    MicroOp op = simple(reads, writes);
    op.unit = unit;
    return op;
}

// Commits of operations that wait for nothing at their commit.
std::vector<Cycle> commits(Pipeline &pipeline, const std::vector<MicroOp> &ops) {
    std::vector<Cycle> cycles;
    for (const MicroOp &op : ops) {
        Cycle end = pipeline.issue(op);
        if (op.unit == Unit::Memory)
            pipeline.leave_unit(end = pipeline.operands_committed(op, end));
        cycles.push_back(pipeline.commit(op, end));
    }
    return cycles;
}

} // namespace

TEST_CASE("pipeline: two operations a cycle, the first at the pipeline's depth") {
    Options options = minor();
    Pipeline pipeline(options);
    auto found = commits(
        pipeline, {simple(0, reg(1)), simple(0, reg(2)), simple(0, reg(3)), simple(0, reg(4))});
    CHECK(found[0] == 2 + 1 + 1 + 3); // fetch, decode, issue, the unit
    CHECK(found == std::vector<Cycle>{found[0], found[0], found[0] + 1, found[0] + 1});
}

TEST_CASE("pipeline: a result is forwarded after a cycle, to an address after two") {
    Options options = minor();
    Pipeline chain(options), address(options), product(options);
    auto found = commits(chain, {simple(0, reg(1)), simple(reg(1), reg(1)), simple(reg(1), 0)});
    CHECK(found[2] == found[0] + 2);
    // It requests its access at the earliest when the operand is committed.
    found = commits(address, {simple(0, reg(1)), of(Unit::Memory, reg(1), reg(2))});
    CHECK(found[1] == found[0]);
    found = commits(product, {of(Unit::Multiply, 0, reg(1)), simple(reg(1), 0)});
    CHECK(found[1] == found[0] + 1);
}

TEST_CASE("pipeline: one access a cycle, and it is the last of its cycle") {
    Options options = minor();
    Pipeline pipeline(options);
    auto found = commits(pipeline, {of(Unit::Memory, 0, 0), of(Unit::Memory, 0, 0), simple(0, 0)});
    CHECK(found[1] == found[0] + 1);
    CHECK(found[2] == found[1] + 3);
}

TEST_CASE("pipeline: a division holds its unit") {
    Options options = minor();
    Pipeline pipeline(options);
    auto found = commits(pipeline, {of(Unit::Divide, 0, 0), of(Unit::Divide, 0, 0)});
    CHECK(found[1] == found[0] + options.lat_div);
}

TEST_CASE("pipeline: a flush counts from commit to commit") {
    Options options = minor();
    Pipeline pipeline(options);
    Cycle before = commits(pipeline, {simple(0, 0)})[0];
    pipeline.flush({});
    CHECK(commits(pipeline, {simple(0, 0)})[0] == before + options.mispredict);
}

TEST_CASE("pipeline: the wrong path takes time to decode") {
    Options options = minor();
    Pipeline pipeline(options);
    Cycle before = commits(pipeline, {simple(0, 0)})[0];
    // Instructions of six micro-operations: three queued entries of two take 18 cycles to decode.
    std::vector<MicroOp> wrong_path(6, simple(0, 0));
    for (size_t part = 1; part < wrong_path.size(); part++)
        wrong_path[part].first = false;
    pipeline.flush(wrong_path);
    Cycle after = commits(pipeline, {simple(0, 0)})[0];
    CHECK(after - before > options.mispredict + 9);
    CHECK(after - before < options.mispredict + 18);
}

TEST_CASE("pipeline: the fetch delay of a taken branch is hidden while fetch is ahead") {
    Options options = minor();
    Pipeline late(options), ahead(options);
    Cycle before = commits(late, {simple(0, 0)})[0];
    late.redirect();
    CHECK(commits(late, {simple(0, 0)})[0] == before + 4);

    std::vector<MicroOp> chain(12, simple(reg(1), reg(1)));
    before = commits(ahead, chain).back();
    ahead.redirect();
    CHECK(commits(ahead, {simple(reg(1), 0)})[0] == before + 1);
}

TEST_CASE("pipeline: fetch is ahead by its queues and no more") {
    Options options = minor();
    Pipeline pipeline(options);
    MicroOp slow = simple(0, 0);
    Cycle end = pipeline.issue(slow);
    pipeline.commit(slow, end + 1000);
    // Meanwhile units and queues fill up; the rest comes after it.
    auto found = commits(pipeline, std::vector<MicroOp>(40, simple(0, 0)));
    CHECK(found[0] == end + 1000);
    CHECK(found[39] >= end + 1000 + 19);
}

TEST_CASE("pipeline: an operation without a unit takes no slot at commit") {
    Options options = minor();
    Pipeline pipeline(options);
    auto found = commits(pipeline, {simple(0, 0), of(Unit::None, 0, 0), simple(0, 0)});
    CHECK(found[1] == found[0]);
}

TEST_CASE("lines: one is fetched ahead of the one in use") {
    LineFetch lines(64, 2);
    lines.restart(0x1000, 10);
    CHECK(lines.available_at(0x103f, 12) == 12);
    CHECK(lines.available_at(0x1040, 12) == 14); // requested when the first came
    CHECK(lines.available_at(0x1080, 20) == 16);
    CHECK(lines.available_at(0x10c0, 21) == 22); // waited for room until 20
}

TEST_CASE("lines: a redirect waits for the line that is being fetched") {
    LineFetch lines(64, 2);
    lines.restart(0x1000, 10); // there at 12, the next requested then
    CHECK(lines.redirected_at(12) == 14);
    CHECK(lines.redirected_at(13) == 14); // the next has just come
    CHECK(lines.redirected_at(14) == 16); // one more is requested in that cycle
}

TEST_CASE("unit: an operation that cannot leave stops those after it") {
    FunctionalUnit unit(3, 1);
    CHECK(unit.issue(10) == 13);
    unit.leave(20); // stood at the end from 13 to 20
    CHECK(unit.free_at(11) == 11);
    CHECK(unit.free_at(13) == 20);
    CHECK(unit.issue(11) == 21); // was a cycle behind, and stays so
    unit.leave(21);
    CHECK(unit.issue(25) == 28);
}
