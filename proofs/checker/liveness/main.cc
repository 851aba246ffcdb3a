// Reads the assembly text of a client and writes it again with a table of what is live behind each
// of its calls, in a section that the checker finds (src/client/frames.h).
#include "liveness/liveness.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace liveness;

std::string label(size_t number) { return ".Lprove_frame" + std::to_string(number); }

// For each row: the return address, the frame's size, why each register is live, and each byte.
void write_table(std::ostream &out, const std::vector<Row> &table) {
    out << "\t.section\tprove_frames,\"a\",@progbits\n";
    for (size_t i = 0; i < table.size(); i++) {
        out << "\t.quad\t" << label(i) << "\n\t.long\t" << table[i].frame.size() << "\n\t.byte\t";
        const char *before = "";
        for (Needed needed : table[i].registers) {
            out << before << unsigned{needed};
            before = ",";
        }
        for (Needed needed : table[i].frame)
            out << before << unsigned{needed};
        out << '\n';
    }
    out << "\t.text\n";
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fputs("usage: liveness FROM.s TO.s\n", stderr);
        return 2;
    }
    std::ifstream in(argv[1]);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(std::move(line));
    std::vector<Row> table;
    for (const Function &function : functions(lines)) {
        if (std::optional<std::vector<Row>> found = rows(function))
            table.insert(table.end(), found->begin(), found->end());
        else
            std::fprintf(stderr, "%s: all live\n", function.name.c_str());
    }
    std::ofstream out(argv[2]);
    size_t next = 0;
    for (size_t i = 0; i < lines.size(); i++) {
        out << lines[i] << '\n';
        if (next < table.size() && table[next].line == i)
            out << label(next++) << ":\n";
    }
    write_table(out, table);
    out.close();
    if (!in.eof() || !out) {
        std::fputs("liveness: a file could not be read or written\n", stderr);
        return 1;
    }
    return 0;
}
