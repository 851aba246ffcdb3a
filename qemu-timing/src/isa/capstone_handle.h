// Capstone with details, for the decoders that use it.
#pragma once

#include "base/registers.h"

#include <capstone/capstone.h>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace lockcross {

class CapstoneHandle {
  public:
    CapstoneHandle(cs_arch arch, cs_mode mode) {
        if (cs_open(arch, mode, &handle_) != CS_ERR_OK)
            throw std::runtime_error("the Capstone library lacks this instruction set");
        cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
        insn_ = cs_malloc(handle_);
    }
    ~CapstoneHandle() {
        cs_free(insn_, 1);
        cs_close(&handle_);
    }
    CapstoneHandle(const CapstoneHandle &) = delete;
    CapstoneHandle &operator=(const CapstoneHandle &) = delete;

    // Null when Capstone does not know the instruction. Valid until the next call.
    const cs_insn *disassemble(const uint8_t *code, size_t size, uint64_t address) {
        return cs_disasm_iter(handle_, &code, &size, &address, insn_) ? insn_ : nullptr;
    }

    // Adds the registers that the instruction reads and writes. bit_of: the set of one register.
    template <typename BitOf>
    void add_registers(const cs_insn *insn, RegisterSet &reads, RegisterSet &writes,
                       BitOf bit_of) const {
        cs_regs read, written;
        uint8_t read_count = 0, written_count = 0;
        cs_regs_access(handle_, insn, read, &read_count, written, &written_count);
        for (uint8_t i = 0; i < read_count; i++)
            reads |= bit_of(read[i]);
        for (uint8_t i = 0; i < written_count; i++)
            writes |= bit_of(written[i]);
    }

  private:
    csh handle_ = 0;
    cs_insn *insn_ = nullptr;
};

} // namespace lockcross
