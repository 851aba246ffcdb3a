// What the timing model knows of an instruction.
#pragma once

#include "core/predictor.h"
#include "base/counts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockcross {

enum class Latency : uint8_t { Alu, Mul, Div, Load };

enum class Effect : uint8_t {
    None,
    Memory,           // plain loads and stores
    LoadLinked,       // lwarx, ldxr, ldaxr
    StoreConditional, // stwcx., stxr, stlxr
    Cas,              // lock cmpxchg, casa
    Rmw,              // any other atomic
    Fence,
    Charge
};

// Registers are bits: 0 to 31 general, 32 condition flags (POWER: 32 to 39, a field each), 40
// upwards the other special ones. A register that the model does not follow has no bit.
struct Insn {
    uint64_t reads = 0;
    uint64_t writes = 0;        // ready after `latency`
    uint64_t address_write = 0; // base register of an update form: ready after one simple operation
    Latency latency = Latency::Alu;
    bool loads = false; // `latency` begins when an operand has come from memory
    Effect effect = Effect::None;
    Branch branch = Branch::None;
    Fence fence = Fence::Count;
    Charge charge = Charge::Count;
    // Kinds of micro-operations (micro_ops.cc), for a core that cracks instructions; none: it is
    // one. The last byte is zero.
    std::array<char, 16> micro_ops{};
    uint8_t size = 0;           // bytes; only where instructions differ in it
    uint8_t pair_bytes = 0;     // of each of the two registers that it loads or stores; 0: one
    uint64_t address_reads = 0; // of `reads`, what its micro-operations that load need
    // A load-linked or store-conditional that a pipeline treats as a plain access.
    bool plain = false;
    // Of a memory access; acquire: it also stays behind earlier release stores.
    bool acquire = false, release = false;

    bool is_atomic() const {
        return effect == Effect::Cas || effect == Effect::Rmw || effect == Effect::StoreConditional;
    }
};

class Decoder {
  public:
    virtual ~Decoder() = default;
    // bytes: size bytes of the instruction at address.
    virtual Insn decode(const uint8_t *bytes, size_t size, uint64_t address) = 0;
};

// isa: "x86_64", "ppc64le" or "aarch64"; null for any other.
std::unique_ptr<Decoder> make_decoder(const std::string &isa);

std::unique_ptr<Decoder> make_x86_decoder();
std::unique_ptr<Decoder> make_ppc_decoder();
std::unique_ptr<Decoder> make_arm_decoder();

} // namespace lockcross
