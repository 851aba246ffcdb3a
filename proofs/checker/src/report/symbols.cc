#include "report/symbols.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace prove {

namespace {

std::vector<std::string> lines_of(const std::string &command) {
    std::vector<std::string> lines;
    FILE *pipe = popen((command + " 2>/dev/null").c_str(), "r");
    if (!pipe)
        return lines;
    std::string line;
    for (int c; (c = std::fgetc(pipe)) != EOF;) {
        if (c != '\n') {
            line.push_back(static_cast<char>(c));
            continue;
        }
        lines.push_back(line);
        line.clear();
    }
    pclose(pipe);
    return lines;
}

std::string quoted(const std::string &text) {
    std::string result = "'";
    for (char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

std::string hex(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

} // namespace

Symbols::Symbols(const std::vector<uint64_t> &return_addresses) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length > 0)
        program_.assign(path, static_cast<size_t>(length));
    read_source_lines(return_addresses);
    read_variables();
}

void Symbols::read_source_lines(const std::vector<uint64_t> &return_addresses) {
    std::string command = "addr2line -a -i -f -s -e " + quoted(program_);
    for (uint64_t return_address : return_addresses) {
        if (source_lines_.try_emplace(return_address).second)
            command += ' ' + hex(return_address - 1); // within the call that returns there
    }
    std::vector<SourceLine> *current = nullptr;
    std::vector<std::string> lines = lines_of(command);
    for (size_t i = 0; i < lines.size(); i++) {
        if (lines[i].starts_with("0x")) {
            auto found = source_lines_.find(std::strtoull(lines[i].c_str(), nullptr, 16) + 1);
            current = found == source_lines_.end() ? nullptr : &found->second;
        } else if (current && i + 1 < lines.size()) {
            const std::string &where = lines[++i];
            size_t colon = where.rfind(':');
            if (colon != std::string::npos)
                current->push_back({lines[i - 1], where.substr(0, colon),
                                    static_cast<unsigned>(std::atoi(where.c_str() + colon + 1))});
        }
    }
}

void Symbols::read_variables() {
    for (const std::string &line : lines_of("nm -S " + quoted(program_))) {
        unsigned long long address, size;
        char kind, name[200];
        if (std::sscanf(line.c_str(), "%llx %llx %c %199s", &address, &size, &kind, name) == 4 &&
            (kind == 'b' || kind == 'B' || kind == 'd' || kind == 'D'))
            variables_[address] = {size, name};
    }
}

const std::vector<SourceLine> &Symbols::at(uint64_t return_address) const {
    static const std::vector<SourceLine> none;
    auto found = source_lines_.find(return_address);
    return found == source_lines_.end() ? none : found->second;
}

std::string Symbols::data(uint64_t address) const {
    auto after = variables_.upper_bound(address);
    if (after == variables_.begin())
        return hex(address);
    const auto &[begin, variable] = *std::prev(after);
    if (address >= begin + variable.size)
        return hex(address);
    return address == begin ? variable.name : variable.name + "+" + std::to_string(address - begin);
}

} // namespace prove
