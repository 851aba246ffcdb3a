#include "base/options.h"
#include "base/registers.h"
#include "core/block.h"
#include "core/schedule.h"
#include "isa/decoder.h"
#include "isa/insn.h"

#include <cstdint>
#include <doctest/doctest.h>

using namespace lockcross;

namespace {

Insn load() {
    Insn insn;
    insn.effect = Effect::Memory;
    insn.writes = register_bit(1);
    return insn;
}

// A conditional branch of x86 as gem5 cracks it.
Insn branch() {
    Insn insn;
    insn.branch = Branch::Conditional;
    insn.micro_ops = {'i', 'i', 'o'};
    return insn;
}

Options cracking() {
    Options options;
    options.pipeline = options.micro_operations = 1;
    return options;
}

} // namespace

TEST_CASE("block: ends with its last instruction, and has its branch") {
    Options options;
    BlockBuilder builder(options, 0x1000);
    builder.add(load(), 0x1000, 7);
    builder.add(branch(), 0x1007, 2);
    auto block = builder.finish();
    CHECK(block->pc == 0x1000);
    CHECK(block->fallthrough == 0x1009);
    CHECK(block->branch == Branch::Conditional);
    CHECK(block->branch_pc == 0x1007);
    CHECK(block->instructions == 2);
    CHECK(block->schedule.length == 2);
    CHECK(block->ops.empty()); // of a pipeline only
    CHECK_FALSE(block->unpredicted);
}

TEST_CASE("block: `timed` has only what the core times by itself, with its micro-operations") {
    Options options = cracking();
    BlockBuilder builder(options, 0x1000);
    CHECK(builder.add(branch(), 0x1000, 4) == nullptr);
    TimedInsn *timed = builder.add(load(), 0x1004, 4);
    auto block = builder.finish();
    REQUIRE(block->timed.size() == 1);
    CHECK(timed == &block->timed[0]);
    CHECK(timed->writes == register_bit(1));
    CHECK(timed->first_op == 3);
    CHECK(timed->end_op == 4);
    CHECK(block->ops.size() == 4);
}

TEST_CASE("block: only a cracked branch has a wrong path") {
    const uint8_t code[] = {0x01, 0xc8, 0x03, 0x07}; // add %ecx,%eax; add (%rdi),%eax
    auto decoder = make_decoder("x86_64");
    auto wrong_path = [&](const Options &options, const Insn &last) {
        BlockBuilder builder(options, 0x1000);
        builder.add(last, 0x1000, 2);
        builder.add_wrong_path(*decoder, code, sizeof code, 0x1002);
        return builder.finish()->wrong_path.size();
    };
    CHECK(wrong_path(cracking(), branch()) == 3);
    CHECK(wrong_path(cracking(), load()) == 0);
    Options whole = cracking();
    whole.micro_operations = 0;
    CHECK(wrong_path(whole, branch()) == 0);
}
