// A Capstone handle with details, for the decoders that use it.
#pragma once

#include <capstone/capstone.h>

#include <stdexcept>

namespace lockcross {

class CapstoneHandle {
  public:
    CapstoneHandle(cs_arch arch, cs_mode mode) {
        if (cs_open(arch, mode, &handle_) != CS_ERR_OK) {
            throw std::runtime_error("the Capstone library lacks this instruction set");
        }
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
    const cs_insn *disassemble(const uint8_t *bytes, size_t size, uint64_t address) {
        return cs_disasm_iter(handle_, &bytes, &size, &address, insn_) ? insn_ : nullptr;
    }

    // The registers read and written, as the mask that bit_of makes of each.
    template <typename BitOf>
    void registers(const cs_insn *insn, uint64_t &reads, uint64_t &writes, BitOf bit_of) const {
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

constexpr uint64_t reg_bit(unsigned reg) { return uint64_t(1) << reg; }

} // namespace lockcross
