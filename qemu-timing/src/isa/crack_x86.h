// How gem5 24.0 cracks x86-64 instructions into micro-operations (src/arch/x86/isa/insts).
#pragma once

#include "isa/insn.h"

#include <capstone/capstone.h>

namespace lockcross {

MicroOpKinds crack_x86(const cs_insn *insn);

} // namespace lockcross
