// Encodings come from the GNU assembler (binutils 2.40).
#include "base/options.h"
#include "base/registers.h"
#include "isa/decoder.h"
#include "isa/insn.h"
#include "isa/micro_ops.h"

#include <cstdint>
#include <doctest/doctest.h>
#include <initializer_list>
#include <string>
#include <vector>

using namespace lockcross;

namespace {

std::string x86(std::initializer_list<uint8_t> bytes) {
    std::vector<uint8_t> copy(bytes);
    return make_decoder("x86_64")->decode(copy.data(), copy.size(), 0x1000).micro_ops.data();
}

Insn arm(uint32_t w) {
    uint8_t bytes[] = {uint8_t(w), uint8_t(w >> 8), uint8_t(w >> 16), uint8_t(w >> 24)};
    return make_decoder("aarch64")->decode(bytes, 4, 0x1000);
}

constexpr RegisterSet kSp = register_bit(4);

std::vector<MicroOp> ops_of(const Insn &insn, const Options &options) {
    std::vector<MicroOp> ops;
    append_micro_ops(insn, 0x1000, 4, options, ops);
    return ops;
}

Insn pop_rbx() {
    const uint8_t code[] = {0x5b};
    return make_decoder("x86_64")->decode(code, 1, 0x1000);
}

Options out_of_order(uint32_t cracked) {
    Options options;
    options.out_of_order = 1;
    options.micro_operations = cracked;
    return options;
}

} // namespace

TEST_CASE("micro-operations: x86, as gem5 counts them") {
    CHECK(x86({0x01, 0xc8}) == "o");                               // add %ecx,%eax
    CHECK(x86({0x83, 0xc0, 0x01}) == "io");                        // add $1,%eax
    CHECK(x86({0x03, 0x07}) == "lo");                              // add (%rdi),%eax
    CHECK(x86({0x01, 0x07}) == "los");                             // add %eax,(%rdi)
    CHECK(x86({0x83, 0x07, 0x01}) == "ilos");                      // addl $1,(%rdi)
    CHECK(x86({0x8b, 0x07}) == "l");                               // mov (%rdi),%eax
    CHECK(x86({0x89, 0x07}) == "s");                               // mov %eax,(%rdi)
    CHECK(x86({0x8b, 0x05, 0, 0, 0, 0}) == "il");                  // mov 0(%rip),%eax
    CHECK(x86({0x0f, 0xb6, 0xc0}) == "oo");                        // movzbl %al,%eax
    CHECK(x86({0x85, 0xc0}) == "o");                               // test %eax,%eax
    CHECK(x86({0x39, 0x07}) == "lo");                              // cmp %eax,(%rdi)
    CHECK(x86({0x80, 0x3f, 0x00}) == "ilo");                       // cmpb $0,(%rdi)
    CHECK(x86({0x75, 0x00}) == "iio");                             // jne
    CHECK(x86({0xeb, 0x00}) == "iio");                             // jmp
    CHECK(x86({0xff, 0xe0}) == "o");                               // jmp *%rax
    CHECK(x86({0xe8, 0, 0, 0, 0}) == "iisuo");                     // call
    CHECK(x86({0xff, 0xd0}) == "isuo");                            // call *%rax
    CHECK(x86({0xc3}) == "luo");                                   // ret
    CHECK(x86({0x53}) == "su");                                    // push %rbx
    CHECK(x86({0x5b}) == "luo");                                   // pop %rbx
    CHECK(x86({0x0f, 0x94, 0xc0}) == "oo");                        // sete %al
    CHECK(x86({0xf0, 0x0f, 0xb1, 0x0f}) == "floosfo");             // lock cmpxchg %ecx,(%rdi)
    CHECK(x86({0xf0, 0x0f, 0xc1, 0x07}) == "flosfo");              // lock xadd %eax,(%rdi)
    CHECK(x86({0x87, 0x07}) == "flsfo");                           // xchg %eax,(%rdi)
    CHECK(x86({0xf0, 0x83, 0x0c, 0x24, 0x00}) == "iflosf");        // lock orl $0,(%rsp)
    CHECK(x86({0x0f, 0xae, 0xf0}) == "f");                         // mfence
    CHECK(x86({0xc1, 0xe0, 0x02}) == "o");                         // shl $2,%eax
    CHECK(x86({0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00}) == "n"); // nopl 0(%rax)
}

TEST_CASE("micro-operations: AArch64 adds up the address of a pair, and writes back, apart") {
    CHECK(arm(0xf9400000).micro_ops[0] == 0);                       // ldr x0,[x0]
    CHECK(std::string(arm(0xf8408420).micro_ops.data()) == "lu");   // ldr x0,[x1],#8
    CHECK(std::string(arm(0xa9400440).micro_ops.data()) == "ol");   // ldp x0,x1,[x2]
    CHECK(std::string(arm(0xa9000440).micro_ops.data()) == "oss");  // stp x0,x1,[x2]
    CHECK(std::string(arm(0x29000440).micro_ops.data()) == "os");   // stp w0,w1,[x2]
    CHECK(std::string(arm(0xa9be7bfd).micro_ops.data()) == "ossu"); // stp x29,x30,[sp,#-32]!
    CHECK(std::string(arm(0xa8c27bfd).micro_ops.data()) == "lu");   // ldp x29,x30,[sp],#32
}

TEST_CASE("micro-operations: out of order an updated base register waits for its old value alone") {
    MicroOp pop = ops_of(pop_rbx(), out_of_order(0)).at(0);
    CHECK(pop.writes == register_bit(3));
    CHECK(pop.update_writes == kSp);
    CHECK(pop.update_reads == kSp);
    CHECK_FALSE(pop.counted);
    Options with_engine = out_of_order(0);
    with_engine.stack_engine = 1;
    CHECK(ops_of(pop_rbx(), with_engine).at(0).counted);
    CHECK_FALSE(ops_of(arm(0xf8408420), with_engine).at(0).counted);

    std::vector<MicroOp> ops = ops_of(pop_rbx(), out_of_order(1));
    REQUIRE(ops.size() == 3); // load, update, copy
    CHECK(ops[1].reads == kSp);
    CHECK(ops[1].writes == kSp);
    CHECK((ops[2].reads & kSp) == 0);
    CHECK((ops[2].writes & kSp) == 0);
    CHECK((ops[2].writes & register_bit(3)) != 0);

    ops = ops_of(arm(0xf8408420), out_of_order(1)); // ldr x0,[x1],#8
    REQUIRE(ops.size() == 2);
    CHECK((ops[0].writes & register_bit(0)) != 0);
    CHECK((ops[0].writes & register_bit(1)) == 0);
    CHECK(ops[1].reads == register_bit(1));
    CHECK(ops[1].writes == register_bit(1));
}

TEST_CASE("micro-operations: an instruction that is not cracked is one") {
    std::vector<MicroOp> ops;
    Insn store = arm(0xa9be7bfd);
    Options options;
    append_micro_ops(store, 0x1000, 4, options, ops);
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].unit == Unit::Memory);
    CHECK((ops[0].writes & store.address_writes) != 0);
    options.micro_operations = 1;
    append_micro_ops(store, 0x1004, 4, options, ops);
    REQUIRE(ops.size() == 5);
    CHECK(ops[1].first);
    CHECK(ops[4].address == 0x1004);
    CHECK_FALSE(ops[2].first);
    CHECK(ops[1].unit == Unit::Simple);
    CHECK(ops[2].unit == Unit::Memory);
}
