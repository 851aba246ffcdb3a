// The assembly text that gcc makes of a client, as far as its liveness needs it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace liveness {

// Registers that a called function keeps; of the others only the stack pointer matters, since the
// rest is dead behind every call.
inline constexpr unsigned kKept = 6;
enum Register : int8_t { kRbx, kRbp, kR12, kR13, kR14, kR15, kRsp, kRdi, kRsi, kOther, kNone = -1 };

struct Operand {
    enum class Kind { kConstant, kRegister, kMemory, kUnknown } kind = Kind::kUnknown;
    Register reg = kNone; // itself, or the base of an address
    Register index = kNone;
    unsigned bytes = 0;       // of a register
    int64_t displacement = 0; // from the stack pointer
};

struct Instruction {
    std::string name;
    std::vector<Operand> operands;
    std::string target; // of a call or jump
    size_t line = 0;
};

struct Function {
    std::string name;
    std::vector<Instruction> code;
    std::map<std::string, size_t, std::less<>> labels; // and what they stand before
    bool has_assembly = false;                         // written by hand
};

std::vector<Function> functions(const std::vector<std::string> &lines);

} // namespace liveness
