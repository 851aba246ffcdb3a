// What of a function's frame, and of the registers that it must keep, is read again after each of
// its calls. The rest is dead there: it may hold anything.
#pragma once

#include "liveness/assembly.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace liveness {

// Why a datum is live, one bit each: the function reads it; or it is what register r holds when the
// function returns (1 << (1 + r)), so it is live if the caller reads that.
using Needed = uint8_t;
inline constexpr Needed kRead = 1;
inline constexpr Needed at_return(unsigned kept) { return static_cast<Needed>(2U << kept); }

struct Row {
    size_t line; // of the call
    std::array<Needed, kKept> registers{};
    std::vector<Needed> frame; // by byte, from the stack pointer to the return address
};

// A row for each call of a function; none if it does what is not understood here: everything counts
// as live then.
std::optional<std::vector<Row>> rows(const Function &function);

} // namespace liveness
