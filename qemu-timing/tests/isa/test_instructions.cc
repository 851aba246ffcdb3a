// The registers of every form of instruction in the study's programs, against other decoders.
#include "isa/decoder.h"
#include "isa/insn.h"

#include <cstdint>
#include <cstdlib>
#include <doctest/doctest.h>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace lockcross;

namespace {

// By the names of the table.
unsigned number(const std::string &isa, const std::string &name) {
    static const char *const x86[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"};
    static const std::map<std::string, unsigned> special = {
        {"sp", 31}, {"flags", 32}, {"lr", 40}, {"ctr", 41}, {"ca", 42}};
    for (unsigned i = 0; isa == "x86_64" && i < 8; i++) {
        if (name == x86[i])
            return i;
    }
    if (auto found = special.find(name); found != special.end())
        return found->second;
    bool condition = name.starts_with("cr");
    return unsigned(std::atoi(name.c_str() + (condition ? 2 : 1))) + (condition ? 32 : 0);
}

RegisterSet set_of(const std::string &isa, const std::string &names) {
    std::istringstream words(names);
    RegisterSet found = 0;
    for (std::string name; words >> name;)
        found |= register_bit(number(isa, name));
    return found;
}

std::vector<uint8_t> bytes_of(const std::string &hex) {
    std::istringstream words(hex);
    std::vector<uint8_t> found;
    for (std::string word; words >> word;)
        found.push_back(uint8_t(std::strtoul(word.c_str(), nullptr, 16)));
    return found;
}

struct Row {
    std::string isa, code, text, reads, writes;
};

const Row kRows[] = {
#define SAME(isa, code, text, reads, writes) {isa, code, text, reads, writes},
#define OTHER(isa, code, text, reads, writes, their_reads, their_writes, reason)                   \
    {isa, code, text, reads, writes},
#include "instructions.def"
#undef SAME
#undef OTHER
};

} // namespace

TEST_CASE("decode: the registers of every form of instruction are those of other decoders") {
    std::map<std::string, std::unique_ptr<Decoder>> decoders;
    for (const Row &row : kRows) {
        CAPTURE(row.text);
        CAPTURE(row.code);
        std::unique_ptr<Decoder> &decoder = decoders[row.isa];
        if (!decoder)
            decoder = make_decoder(row.isa);
        std::vector<uint8_t> code = bytes_of(row.code);
        Insn insn = decoder->decode(code.data(), code.size(), 0x1000);
        CHECK(insn.known);
        CHECK_FALSE(insn.cut_off);
        CHECK(insn.reads == set_of(row.isa, row.reads));
        CHECK((insn.writes | insn.address_writes) == set_of(row.isa, row.writes));
        CHECK((insn.update_reads & ~insn.reads) == 0);
        CHECK((insn.update_reads != 0) == (insn.address_writes != 0));
        if (row.isa == "x86_64")
            CHECK(insn.size == code.size());
    }
    CHECK(decoders.size() == 3);
}
