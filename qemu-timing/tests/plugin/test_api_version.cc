#include "plugin/api_version.h"

#include <cstdint>
#include <cstring>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <utility>

using namespace lockcross;

struct qemu_plugin_insn {
    const char *bytes;
};

namespace {

std::set<std::string> functions; // of the QEMU that is stood in for

int declared_with(std::set<std::string> names) {
    functions = std::move(names);
    return declared_api([](const char *name) { return functions.count(name) != 0; });
}

const void *place(const qemu_plugin_insn *insn) { return insn->bytes; }

size_t copy(const qemu_plugin_insn *insn, void *to, size_t size) {
    std::memcpy(to, insn->bytes, size);
    return size;
}

template <typename F> InsnReader::Function plain(F *function) {
    return reinterpret_cast<InsnReader::Function>(function);
}

} // namespace

TEST_CASE("the newest version whose functions are there is declared") {
    CHECK(declared_with({}) == 1);
    CHECK(declared_with({"qemu_plugin_scoreboard_new"}) == 2);
    CHECK(declared_with({"qemu_plugin_scoreboard_new", "qemu_plugin_read_memory_vaddr"}) == 4);
    CHECK(declared_with({"qemu_plugin_scoreboard_new", "qemu_plugin_read_memory_vaddr",
                         "qemu_plugin_write_register"}) == 5);
}

TEST_CASE("no QEMU at all has none of them") { CHECK(declared_api() == 1); }

TEST_CASE("up to version 2 the bytes of an instruction are read in place") {
    qemu_plugin_insn insn{"\x0f\xae\xf0"};
    for (int api : {1, 2}) {
        InsnReader reader(api, plain(place));
        CHECK(reader.bytes(&insn, 3) == reinterpret_cast<const uint8_t *>(insn.bytes));
    }
}

TEST_CASE("from version 3 on they are copied") {
    qemu_plugin_insn first{"\x0f\xae\xf0"}, second{"\x90"};
    for (int api : {3, 4, 5}) {
        InsnReader reader(api, plain(copy));
        const uint8_t *bytes = reader.bytes(&first, 3);
        CHECK(bytes != reinterpret_cast<const uint8_t *>(first.bytes));
        CHECK(std::memcmp(bytes, "\x0f\xae\xf0", 3) == 0);
        CHECK(reader.bytes(&second, 1)[0] == 0x90);
    }
}

TEST_CASE("a copy stays within its 16 bytes") {
    const std::string many(64, 'x');
    qemu_plugin_insn insn{many.c_str()};
    InsnReader reader(4, plain(copy));
    const uint8_t *bytes = reader.bytes(&insn, many.size());
    CHECK(std::string(reinterpret_cast<const char *>(bytes), 16) == many.substr(0, 16));
}
