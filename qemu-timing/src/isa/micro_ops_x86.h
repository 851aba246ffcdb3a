// How gem5 24.0 cracks x86-64 instructions into micro-operations (src/arch/x86/isa/insts).
#pragma once

#include <array>
#include <capstone/capstone.h>

namespace lockcross {

// Their kinds, as in Insn::micro_ops.
std::array<char, 16> x86_micro_ops(const cs_insn *insn);

} // namespace lockcross
