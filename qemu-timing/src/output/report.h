// The report of a run, a JSON document: docs/interfaces.md, section 6.
#pragma once

#include "base/counts.h"
#include "base/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockcross {

constexpr const char *kVersion = "0.1.0";

struct PhaseMark {
    uint32_t core;
    uint64_t phase;
    Cycle cycle;
    Counts counts; // of the core, up to the mark
};

struct Report {
    std::string isa;
    bool complete = false;
    uint64_t handovers = 0;
    std::vector<Cycle> starts; // of each core: the cycle at which it begins its work
    std::vector<Cycle> cycles; // of each core, from its start
    std::vector<PhaseMark> phases;
    std::optional<MemoryUse> memory_system; // of a memory that another process simulates
};

// counts: of each core.
std::string to_json(const Report &report, const Options &options,
                    const std::vector<Counts> &counts);

} // namespace lockcross
