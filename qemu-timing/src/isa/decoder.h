// Decodes instructions. One decoder for each instruction set.
#pragma once

#include "isa/insn.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockcross {

class Decoder {
  public:
    virtual ~Decoder() = default;
    // code: `size` bytes, which begin with the instruction at `address`.
    virtual Insn decode(const uint8_t *code, size_t size, uint64_t address) = 0;
};

// isa: "x86_64", "ppc64le" or "aarch64"; null for any other.
std::unique_ptr<Decoder> make_decoder(const std::string &isa);

std::unique_ptr<Decoder> make_x86_decoder();
std::unique_ptr<Decoder> make_ppc_decoder();
std::unique_ptr<Decoder> make_arm_decoder();

// An instruction word of an instruction set with a fixed length, little-endian.
inline uint32_t instruction_word(const uint8_t *code) {
    return uint32_t(code[0]) | uint32_t(code[1]) << 8 | uint32_t(code[2]) << 16 |
           uint32_t(code[3]) << 24;
}

} // namespace lockcross
