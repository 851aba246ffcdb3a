#include "liveness/liveness.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

using namespace liveness;

namespace {

std::optional<std::vector<Row>> rows_of(const std::string &body) {
    std::istringstream text("\t.type\tf, @function\nf:\n" + body + "\t.size\tf, .-f\n");
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    std::vector<Function> found = functions(lines);
    REQUIRE(found.size() == 1);
    return rows(found[0]);
}

Row only_row(const std::string &body) {
    std::optional<std::vector<Row>> found = rows_of(body);
    REQUIRE(found);
    REQUIRE(found->size() == 1);
    return found->front();
}

std::vector<Needed> part(const Row &row, unsigned from, unsigned bytes) {
    return {row.frame.begin() + from, row.frame.begin() + from + bytes};
}

// Of a function that keeps rbx, has 16 bytes of local variables and does `use` with the address of
// the four at 12(%rsp): the row of its first call, behind which it sets these.
Row row_before(const std::string &use) {
    auto found = rows_of("\tpushq\t%rbx\n\tsubq\t$16, %rsp\n\tcall\tg\n\tmovl\t$1, 12(%rsp)\n" +
                         use + "\taddq\t$16, %rsp\n\tpopq\t%rbx\n\tret\n");
    REQUIRE(found);
    return found->front();
}

const std::string kTake = "\tleaq\t12(%rsp), %rbx\n";
const std::string kExchange = "\tcall\t__tsan_atomic32_compare_exchange_strong\n";

} // namespace

TEST_CASE("a register is live behind a call if it is read there before it is written") {
    Row row = only_row("\tpushq\t%rbp\n\tpushq\t%rbx\n\tsubq\t$8, %rsp\n"
                       "\tcall\tg\n\tmovl\t%ebx, %eax\n\tmovl\t$1, %ebp\n\taddl\t%ebp, %eax\n"
                       "\taddq\t$8, %rsp\n\tpopq\t%rbx\n\tpopq\t%rbp\n\tret\n");
    CHECK(row.registers[kRbx] == kRead);
    CHECK(row.registers[kRbp] == 0);
    CHECK(row.registers[kR12] == at_return(kR12)); // what the function does not touch
}

TEST_CASE("a saved register is live if the caller needs it") {
    Row row = only_row("\tpushq\t%rbp\n\tsubq\t$16, %rsp\n\tcall\tg\n\taddq\t$16, %rsp\n"
                       "\tpopq\t%rbp\n\tret\n");
    CHECK(row.registers[kRbp] == 0);
    CHECK(row.frame.size() == 24);
    CHECK(part(row, 0, 16) == std::vector<Needed>(16, 0));
    CHECK(part(row, 16, 8) == std::vector<Needed>(8, at_return(kRbp)));
}

TEST_CASE("a register is live before it is saved") {
    Row row = only_row("\tcall\tg\n\tpushq\t%rbx\n\tmovl\t$0, %ebx\n\tpopq\t%rbx\n\tret\n");
    CHECK(row.registers[kRbx] == at_return(kRbx));
}

TEST_CASE("a byte of a register that is written leaves the others") {
    Row row = only_row("\tcall\tg\n\tmovb\t$1, %bl\n\tmovl\t%ebx, %eax\n\tret\n");
    CHECK(row.registers[kRbx] == (kRead | at_return(kRbx)));
    row = only_row("\tcall\tg\n\tmovl\t$1, %ebx\n\tmovl\t%ebx, %eax\n\tret\n");
    CHECK(row.registers[kRbx] == 0);
}

TEST_CASE("what may be written is none, what is changed is read") {
    for (const char *read : {"cmovel\t%eax, %ebx", "addl\t$1, %ebx", "cmpl\t%ebx, %eax",
                             "movl\t(%rbx), %eax", "movl\t%eax, 8(%rax,%rbx,4)", "sete\t(%rbx)",
                             "leaq\t4(%rbx), %rax", "imull\t$3, %ebx, %eax", "movzbl\t%bl, %eax"}) {
        INFO(read);
        Row row = only_row(std::string("\tcall\tg\n\t") + read + "\n\tmovl\t$0, %ebx\n\tret\n");
        CHECK(row.registers[kRbx] == kRead);
    }
    for (const char *written :
         {"xorl\t%ebx, %ebx", "sbbl\t%ebx, %ebx", "movzbl\t%al, %ebx", "leal\t4(%rax), %ebx"}) {
        INFO(written);
        Row row = only_row(std::string("\tcall\tg\n\t") + written +
                           "\n\tmovl\t%ebx, %eax\n\tmovl\t$0, %ebx\n\tret\n");
        CHECK(row.registers[kRbx] == 0);
    }
}

TEST_CASE("slots are live byte by byte") {
    Row row = only_row("\tsubq\t$24, %rsp\n\tcall\tg\n\tmovl\t4(%rsp), %eax\n"
                       "\tmovl\t%eax, 8(%rsp)\n\tmovq\t8(%rsp), %rax\n\taddq\t$24, %rsp\n\tret\n");
    CHECK(part(row, 0, 4) == std::vector<Needed>(4, 0));
    CHECK(part(row, 4, 4) == std::vector<Needed>(4, kRead));
    CHECK(part(row, 8, 4) == std::vector<Needed>(4, 0)); // written before it is read
    CHECK(part(row, 12, 4) == std::vector<Needed>(4, kRead));
    CHECK(part(row, 16, 8) == std::vector<Needed>(8, 0));
}

TEST_CASE("what is live is so on any path") {
    Row row = only_row("\tcall\tg\n\ttestb\t%al, %al\n\tje\t.L2\n\tmovl\t$0, %ebx\n.L2:\n"
                       "\tmovl\t%ebx, %eax\n\tmovl\t$0, %ebx\n\tret\n");
    CHECK(row.registers[kRbx] == kRead);
}

TEST_CASE("a loop is gone round until nothing changes") {
    auto found = rows_of("\tmovl\t$0, %ebx\n.L1:\n\tcall\tg\n\ttestb\t%al, %al\n\tjne\t.L3\n"
                         "\tjmp\t.L1\n.L3:\n\tcall\th\n\tmovl\t%ebx, %eax\n\tret\n");
    REQUIRE(found);
    for (const Row &row : *found)
        CHECK(row.registers[kRbx] == (kRead | at_return(kRbx)));
}

TEST_CASE("a tail call leaves the caller's registers to the next function") {
    auto found = rows_of("\tcall\tg\n\tjmp\th\n");
    REQUIRE(found);
    CHECK(found->front().registers[kRbx] == at_return(kRbx));
}

TEST_CASE("a compare-and-exchange reads what it expects, while it stops and before") {
    auto found = rows_of("\tsubq\t$24, %rsp\n\tmovl\t$7, 12(%rsp)\n\tcall\tg\n"
                         "\tleaq\t12(%rsp), %rsi\n.LVL1:\n"
                         "\tcall\t__tsan_atomic32_compare_exchange_strong\n"
                         "\taddq\t$24, %rsp\n\tret\n");
    REQUIRE(found);
    for (const Row &row : *found) {
        CHECK(part(row, 0, 12) == std::vector<Needed>(12, 0));
        CHECK(part(row, 12, 4) == std::vector<Needed>(4, kRead));
        CHECK(part(row, 16, 8) == std::vector<Needed>(8, 0));
    }
}

TEST_CASE("an announcement of an access to the stack touches nothing") {
    Row row = only_row("\tsubq\t$24, %rsp\n\tleaq\t12(%rsp), %rdi\n\tcall\t__tsan_write4\n"
                       "\taddq\t$24, %rsp\n\tret\n");
    CHECK(row.frame == std::vector<Needed>(24, 0));
}

TEST_CASE("an address of a local variable is followed to the checker's calls") {
    for (const std::string &use : std::vector<std::string>{
             kTake + "\tmovq\t%rbx, %rsi\n" + kExchange,
             kTake + "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_write4\n\tmovq\t%rbx, %rsi\n" + kExchange,
             kTake + "\tcall\tg\n", kTake + "\tmovl\t$0, %ebx\n\tmovq\t%rbx, place(%rip)\n",
             "\tmovq\t%rsp, %rbx\n\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read4\n",
             kTake + "\tje\t.L1\n.L1:\n\tmovq\t%rbx, %rsi\n" + kExchange}) {
        INFO(use);
        CHECK(part(row_before(use), 0, 16) == std::vector<Needed>(16, 0));
    }
}

TEST_CASE("local variables are live if an address of them goes elsewhere") {
    for (const std::string &use : std::vector<std::string>{
             kTake + "\tmovq\t%rbx, %rdi\n\tcall\tg\n", kTake + "\tmovq\t%rbx, %rdx\n" + kExchange,
             kTake + "\tmovq\t%rbx, %rdi\n" + kExchange,
             kTake + "\tmovq\t%rbx, %rsi\n\tcall\t__tsan_write4\n",
             kTake + "\tmovq\t%rbx, place(%rip)\n", kTake + "\tmovq\t%rbx, (%rsp)\n",
             kTake + "\taddq\t$4, %rbx\n", kTake + "\tmovl\t(%rbx), %eax\n",
             kTake + "\tmovb\t$1, %bl\n", kTake + "\tleaq\t4(%rbx), %rdi\n",
             kTake + "\tje\t.L1\n\tleaq\t8(%rsp), %rbx\n.L1:\n\tmovq\t%rbx, %rsi\n" + kExchange,
             "\tmovl\t$0, %ebx\n\tje\t.L1\n" + kTake + ".L1:\n\tmovq\t%rbx, %rsi\n" + kExchange,
             "\tmovl\t$0, 8(%rsp,%rax,4)\n"}) {
        INFO(use);
        Row row = row_before(use);
        CHECK(part(row, 0, 16) == std::vector<Needed>(16, kRead));
        CHECK(part(row, 16, 8) == std::vector<Needed>(8, at_return(kRbx))); // as ever
    }
}

TEST_CASE("a function is left alone where something is not understood") {
    for (const char *strange :
         {"\trep stosq\n", "\tleave\n", "\tsubq\t%rax, %rsp\n", "\tandq\t$-16, %rsp\n",
          "\tjmp\t*.L4(,%rax,8)\n", "\tmovl\t16(%rsp), %eax\n", "\tmovl\t-8(%rsp), %eax\n",
          "\tpushq\t%rax\n", "\tpushq\t$1\n", "\tmovq\t%fs:40, %rax\n", "\tsubq\t$8, %rsp\n",
          "\tje\t.L9\n", "#APP\n\tnop\n#NO_APP\n", "\tmovl\tx(%rsp), %eax\n"}) {
        INFO(strange);
        CHECK_FALSE(rows_of(std::string("\tcall\tg\n") + strange + "\tret\n"));
    }
    CHECK(rows_of("\tcall\tg\n\tret\n"));
}
