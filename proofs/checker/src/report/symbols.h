// Names of code and data of the program: by addr2line and nm, which come with the compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace prove {

struct SourceLine {
    std::string function, file;
    unsigned line = 0;
};

class Symbols {
  public:
    // Looks up the calls that return to these addresses, all at once.
    explicit Symbols(const std::vector<uint64_t> &return_addresses);
    // From the innermost function to the outermost that it is inlined into.
    const std::vector<SourceLine> &at(uint64_t return_address) const;
    // A global variable and the offset into it.
    std::string data(uint64_t address) const;

  private:
    struct Variable {
        uint64_t size;
        std::string name;
    };
    void read_source_lines(const std::vector<uint64_t> &return_addresses);
    void read_variables();

    std::map<uint64_t, std::vector<SourceLine>> source_lines_;
    std::map<uint64_t, Variable> variables_;
    std::string program_;
};

} // namespace prove
