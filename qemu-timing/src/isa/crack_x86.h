// How gem5 24.0 cracks x86-64 instructions into micro-operations (src/arch/x86/isa/insts).
#pragma once

#include "isa/insn.h"
#include "isa/x86_instruction.h"

namespace lockcross {

MicroOpKinds crack_x86(const X86Instruction &insn);

} // namespace lockcross
