#include "base/options.h"

#include <bit>
#include <charconv>

namespace lockcross {

namespace {

constexpr uint32_t kMaxLatency = 10'000'000;

uint64_t parse_number(std::string_view name, std::string_view text) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
        throw OptionError("option " + std::string(name) + ": '" + std::string(text) +
                          "' is not a whole number");
    }
    return value;
}

void require_cache(const char *name, uint32_t size, uint32_t ways, uint32_t line) {
    uint64_t set_bytes = uint64_t(ways) * line;
    if (size % set_bytes != 0 || !std::has_single_bit(size / set_bytes)) {
        throw OptionError(std::string("option ") + name + ": " + std::to_string(size) +
                          " bytes in " + std::to_string(ways) + " ways of " + std::to_string(line) +
                          "-byte lines is not a power of two of sets");
    }
}

void check_together(const Options &o) {
    if (!std::has_single_bit(o.line)) {
        throw OptionError("option line: " + std::to_string(o.line) + " is not a power of two");
    }
    if (!std::has_single_bit(o.predictor_entries)) {
        throw OptionError("option predictor_entries: " + std::to_string(o.predictor_entries) +
                          " is not a power of two");
    }
    if (o.fetch_bytes != 0 && !std::has_single_bit(o.fetch_bytes)) {
        throw OptionError("option fetch_bytes: " + std::to_string(o.fetch_bytes) +
                          " is neither 0 nor a power of two");
    }
    if (o.pipeline && (o.blocking || o.fetch_bytes || !o.store_buffer)) {
        throw OptionError("option pipeline: goes with blocking=0, fetch_bytes=0 and a store "
                          "buffer only");
    }
    if (o.micro_operations && !o.pipeline)
        throw OptionError("option micro_operations: goes with pipeline=1 only");
    require_cache("l1_size", o.l1_size, o.l1_ways, o.line);
    require_cache("l2_size", o.l2_size, o.l2_ways, o.line);
    if (o.l2_size < o.l1_size) {
        throw OptionError("option l2_size: the shared L2 holds every line of the L1 and cannot be "
                          "smaller than l1_size");
    }
}

} // namespace

const std::vector<OptionSpec> &option_specs() {
    using O = Options;
    static const std::vector<OptionSpec> specs = {
        {"width", &O::width, 1, 1, 2, "instructions issued a cycle"},
        {"lat_alu", &O::lat_alu, 1, 1, 100, "result of a simple operation"},
        {"lat_mul", &O::lat_mul, 3, 1, 1000, "result of a multiplication"},
        {"lat_div", &O::lat_div, 20, 1, 1000, "result of a division"},
        {"taken_branch", &O::taken_branch, 1, 0, 1000, "added by a taken branch"},
        {"mispredict", &O::mispredict, 8, 0, 1000, "added by a mispredicted branch"},
        {"predictor_entries", &O::predictor_entries, 1024, 1, 1 << 20, "two-bit counters"},
        {"blocking", &O::blocking, 0, 0, 1, "1: an access holds the core until it is done"},
        {"fetch_bytes", &O::fetch_bytes, 0, 0, 64, "aligned bytes fetched a cycle; 0: no fetch"},
        {"pipeline", &O::pipeline, 0, 0, 1, "1: stages, queues and units as of gem5's Minor"},
        {"micro_operations", &O::micro_operations, 0, 0, 1, "1: cracked as gem5 does"},
        {"line", &O::line, 64, 16, 1024, "bytes of a cache line"},
        {"l1_size", &O::l1_size, 32768, 64, 1 << 26, "bytes of a private L1 data cache"},
        {"l1_ways", &O::l1_ways, 8, 1, 64, "ways of the L1"},
        {"lat_l1", &O::lat_l1, 2, 0, 1000, "load to use of an L1 hit"},
        {"l2_size", &O::l2_size, 2097152, 64, 1 << 30, "bytes of the shared L2"},
        {"l2_ways", &O::l2_ways, 16, 1, 64, "ways of the L2"},
        {"lat_l2", &O::lat_l2, 12, 0, kMaxLatency, "clean fill from the L2"},
        {"lat_memory", &O::lat_memory, 150, 0, kMaxLatency, "fill from memory"},
        {"lat_dirty", &O::lat_dirty, 40, 0, kMaxLatency, "line from another core's E or M copy"},
        {"lat_upgrade", &O::lat_upgrade, 12, 0, kMaxLatency, "S to M"},
        {"lat_invalidate", &O::lat_invalidate, 20, 0, kMaxLatency, "invalidating other copies"},
        {"store_buffer", &O::store_buffer, 8, 0, 1024, "entries; 0: a store waits"},
        {"cas_success", &O::cas_success, 20, 0, kMaxLatency, "added to a CAS that won"},
        {"cas_failure", &O::cas_failure, 20, 0, kMaxLatency, "added to a CAS that lost"},
        {"rmw", &O::rmw, 20, 0, kMaxLatency, "added to another atomic"},
        {"fence_mfence", &O::fence_mfence, 30, 0, kMaxLatency, "x86 mfence, after the drain"},
        {"fence_lfence", &O::fence_lfence, 4, 0, kMaxLatency, "x86 lfence"},
        {"fence_sfence", &O::fence_sfence, 4, 0, kMaxLatency, "x86 sfence"},
        {"fence_hwsync", &O::fence_hwsync, 30, 0, kMaxLatency, "POWER sync, after the drain"},
        {"fence_lwsync", &O::fence_lwsync, 8, 0, kMaxLatency, "POWER lwsync"},
        {"fence_isync", &O::fence_isync, 8, 0, kMaxLatency, "POWER isync"},
        {"fence_dmb", &O::fence_dmb, 30, 0, kMaxLatency, "ARM dmb, after the drain"},
        {"fence_dmb_ld", &O::fence_dmb_ld, 8, 0, kMaxLatency, "ARM dmb ld"},
        {"fence_dmb_st", &O::fence_dmb_st, 8, 0, kMaxLatency, "ARM dmb st"},
        {"fence_dsb", &O::fence_dsb, 40, 0, kMaxLatency, "ARM dsb, after the drain"},
        {"fence_isb", &O::fence_isb, 10, 0, kMaxLatency, "ARM isb"},
        {"charge_stop", &O::charge_stop, 5000, 0, kMaxLatency, "stopping another thread"},
        {"charge_park", &O::charge_park, 2000, 0, kMaxLatency, "suspending oneself"},
        {"charge_unpark", &O::charge_unpark, 1000, 0, kMaxLatency, "waking another thread"},
        {"charge_wake", &O::charge_wake, 2000, 0, kMaxLatency, "being woken"},
        {"charge_switch", &O::charge_switch, 500, 0, kMaxLatency, "a core takes a thread up"},
        {"seed", &O::seed, 0, 0, UINT32_MAX, "of the start offsets"},
        {"offset_max", &O::offset_max, 0, 0, kMaxLatency, "bound of the start offsets"},
    };
    return specs;
}

Options::Options() : max_instructions(0) {
    for (const OptionSpec &spec : option_specs())
        this->*spec.field = spec.value;
}

Options parse_options(const std::vector<std::string_view> &arguments) {
    Options options;
    for (std::string_view argument : arguments) {
        size_t equals = argument.find('=');
        std::string_view name = argument.substr(0, equals);
        if (equals == std::string_view::npos) {
            throw OptionError("option " + std::string(name) + ": name=value is expected");
        }
        std::string_view text = argument.substr(equals + 1);
        if (name == "out") {
            options.out = text;
            continue;
        }
        if (name == "events") {
            options.events = text;
            continue;
        }
        uint64_t value = parse_number(name, text);
        if (name == "max_instructions") {
            options.max_instructions = value;
            continue;
        }
        if (name == "clock_mhz") {
            options.clock_mhz = uint32_t(value);
            continue;
        }
        const OptionSpec *found = nullptr;
        for (const OptionSpec &spec : option_specs()) {
            if (name == spec.name)
                found = &spec;
        }
        if (!found)
            throw OptionError("option " + std::string(name) + " is unknown");
        if (value < found->low || value > found->high) {
            throw OptionError("option " + std::string(name) + ": " + std::string(text) +
                              " is not between " + std::to_string(found->low) + " and " +
                              std::to_string(found->high));
        }
        options.*found->field = uint32_t(value);
    }
    check_together(options);
    return options;
}

} // namespace lockcross
