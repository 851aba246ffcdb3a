// Names of places in the program: by addr2line and nm, which come with the compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace prove {

struct Place {
    std::string function, file;
    unsigned line = 0;
};

class Symbols {
  public:
    // Looks up places that calls return to, all at once.
    explicit Symbols(const std::vector<uint64_t> &places);
    // From the innermost function to the outermost that it is inlined into.
    const std::vector<Place> &at(uint64_t place) const;
    // A global variable and the offset into it.
    std::string data(uint64_t address) const;

  private:
    struct Variable {
        uint64_t size;
        std::string name;
    };
    void read_places(const std::vector<uint64_t> &places);
    void read_variables();

    std::map<uint64_t, std::vector<Place>> places_;
    std::map<uint64_t, Variable> variables_;
    std::string program_;
};

} // namespace prove
