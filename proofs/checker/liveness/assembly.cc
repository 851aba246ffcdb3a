#include "liveness/assembly.h"

#include <array>
#include <charconv>

namespace liveness {

namespace {

constexpr std::string_view kBlank = " \t";

std::string_view trimmed(std::string_view text) {
    size_t first = text.find_first_not_of(kBlank);
    if (first == text.npos)
        return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

struct Named {
    Register reg;
    unsigned bytes;
};

// A register by its name without the %.
Named named(std::string_view name) {
    struct Names {
        Register reg;
        std::array<std::string_view, 4> names; // of 8, 4, 2 and 1 bytes
    };
    static constexpr std::array<Names, 9> kNames = {{
        {kRbx, {"rbx", "ebx", "bx", "bl"}},
        {kRbp, {"rbp", "ebp", "bp", "bpl"}},
        {kR12, {"r12", "r12d", "r12w", "r12b"}},
        {kR13, {"r13", "r13d", "r13w", "r13b"}},
        {kR14, {"r14", "r14d", "r14w", "r14b"}},
        {kR15, {"r15", "r15d", "r15w", "r15b"}},
        {kRsp, {"rsp", "esp", "sp", "spl"}},
        {kRdi, {"rdi", "edi", "di", "dil"}},
        {kRsi, {"rsi", "esi", "si", "sil"}},
    }};
    for (const Names &known : kNames) {
        for (unsigned i = 0; i < known.names.size(); i++) {
            if (known.names[i] == name)
                return {known.reg, 8U >> i};
        }
    }
    return {name == "bh" ? kRbx : kOther, 1}; // bh is a part of rbx
}

bool number(std::string_view text, int64_t &value) {
    if (text.empty())
        value = 0;
    else if (auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
             error != std::errc() || end != text.data() + text.size())
        return false;
    return true;
}

Operand memory(std::string_view text, size_t parenthesis) {
    Operand operand;
    std::string_view inside = text.substr(parenthesis + 1);
    if (inside.empty() || inside.back() != ')')
        return operand;
    inside.remove_suffix(1);
    std::array<std::string_view, 3> parts;
    for (std::string_view &part : parts) {
        size_t comma = inside.find(',');
        part = trimmed(inside.substr(0, comma));
        inside = comma == inside.npos ? std::string_view() : inside.substr(comma + 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (!parts[i].empty() && parts[i].front() != '%')
            return operand;
    }
    operand.reg = parts[0].empty() ? kNone : named(parts[0].substr(1)).reg;
    operand.index = parts[1].empty() ? kNone : named(parts[1].substr(1)).reg;
    bool is_number = number(text.substr(0, parenthesis), operand.displacement);
    if (operand.reg != kRsp || is_number)
        operand.kind = Operand::Kind::kMemory;
    return operand;
}

Operand operand_of(std::string_view text) {
    Operand operand;
    if (text.front() == '$') {
        operand.kind = Operand::Kind::kConstant;
    } else if (text.front() == '%') {
        if (text.find(':') != text.npos)
            return operand;
        auto [reg, bytes] = named(text.substr(1));
        operand.kind = Operand::Kind::kRegister;
        operand.reg = reg;
        operand.bytes = bytes;
    } else if (size_t parenthesis = text.find('('); parenthesis != text.npos) {
        operand = memory(text, parenthesis);
    } else if (text.front() != '*') {
        operand.kind = Operand::Kind::kMemory;
    }
    return operand;
}

// `displacement` of a constant is its value, if it is a number.
Instruction instruction(std::string_view text, size_t line) {
    Instruction made;
    made.line = line;
    size_t end = text.find_first_of(kBlank);
    made.name = text.substr(0, end);
    std::string_view rest = end == text.npos ? std::string_view() : trimmed(text.substr(end));
    made.target = rest;
    while (!rest.empty()) {
        size_t at = 0;
        for (int open = 0; at < rest.size() && (open > 0 || rest[at] != ','); at++)
            open += (rest[at] == '(') - (rest[at] == ')');
        std::string_view one = trimmed(rest.substr(0, at));
        if (one.empty())
            break;
        Operand operand = operand_of(one);
        if (operand.kind == Operand::Kind::kConstant &&
            !number(one.substr(1), operand.displacement))
            operand.displacement = 0;
        made.operands.push_back(operand);
        rest = at < rest.size() ? trimmed(rest.substr(at + 1)) : std::string_view();
    }
    return made;
}

} // namespace

// A function is what stands between its label and its .size; data of its own may stand between.
std::vector<Function> functions(const std::vector<std::string> &lines) {
    std::vector<Function> found;
    std::string_view next;
    bool inside = false;
    for (size_t i = 0; i < lines.size(); i++) {
        std::string_view text = trimmed(lines[i]);
        if (text.starts_with(".type") && text.ends_with("@function")) {
            next = trimmed(text.substr(5, text.find(',') - 5));
        } else if (!next.empty() && text.size() == next.size() + 1 && text.starts_with(next)) {
            found.emplace_back().name = next;
            next = {};
            inside = true;
        } else if (inside && text.starts_with(".size")) {
            inside = false;
        } else if (!inside || text.empty() || text.front() == '#') {
            if (inside && text.starts_with("#APP"))
                found.back().has_assembly = true;
        } else if (text.back() == ':') {
            found.back().labels.emplace(text.substr(0, text.size() - 1), found.back().code.size());
        } else if (text.front() != '.') {
            found.back().code.push_back(instruction(text, i));
        }
    }
    return found;
}

} // namespace liveness
