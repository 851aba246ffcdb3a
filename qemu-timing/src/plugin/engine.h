// The state of the plugin. QEMU's callbacks have no argument for it, so there is one of it.
#pragma once

#include "base/options.h"
#include "core/block.h"
#include "isa/decoder.h"
#include "memory/core_set.h"
#include "output/event_log.h"
#include "plugin/api_version.h"
#include "region/region.h"
#include "region/vcpu.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lockcross {

constexpr uint32_t kMaxVcpus = 4096;

struct Engine {
    Options options;
    std::string isa;
    std::unique_ptr<Decoder> decoder;
    std::optional<InsnReader> insn_reader;

    std::mutex mutex; // of all below; never held while a guest thread runs inside the region
    std::condition_variable changed;
    std::vector<std::unique_ptr<Block>> blocks;
    int64_t host_offset = 0; // host address minus guest address
    CoreSet begun;           // threads that came to BEGIN
    uint32_t meeting = 0;    // threads that wait in MEET or BEGIN
    uint64_t meetings = 0;   // how often all have come
    std::unique_ptr<Region> region;
    bool region_over = false;
    EventLog events;
};

extern Engine &engine;

// The vCPUs inside the region, by QEMU's number. The others are null, and nothing of them is
// counted. Each thread reads and writes its own entry only.
extern std::array<Vcpu *, kMaxVcpus> inside_region;

} // namespace lockcross
