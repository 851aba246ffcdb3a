#include "base/options.h"

#include <bit>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace lockcross {

namespace {

constexpr uint32_t kMaxLatency = 10'000'000;

[[noreturn]] void refuse(std::string_view name, const std::string &why) {
    throw OptionError("option " + std::string(name) + why);
}

// meaning: of the option, for the message when the number is out of bounds.
uint64_t parse_number(std::string_view name, std::string_view text, uint64_t low, uint64_t high,
                      const char *meaning) {
    uint64_t value = 0;
    const char *end_of_text = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), end_of_text, value);
    if (error == std::errc::invalid_argument || end != end_of_text)
        refuse(name, ": '" + std::string(text) + "' is not a whole number");
    if (error == std::errc::result_out_of_range || value < low || value > high) {
        refuse(name, ": " + std::string(text) + " is not between " + std::to_string(low) + " and " +
                         std::to_string(high) + " (" + meaning + ")");
    }
    return value;
}

void require_power_of_two(const char *name, uint32_t value) {
    if (!std::has_single_bit(value))
        refuse(name, ": " + std::to_string(value) + " is not a power of two");
}

void require_cache(const char *name, uint32_t size, uint32_t ways, uint32_t line) {
    uint64_t set_bytes = uint64_t(ways) * line;
    if (size % set_bytes != 0 || !std::has_single_bit(size / set_bytes)) {
        refuse(name, ": " + std::to_string(size) + " bytes in " + std::to_string(ways) +
                         " ways of " + std::to_string(line) +
                         "-byte lines do not make a power of two of sets");
    }
}

void check_together(const Options &o) {
    require_power_of_two("line", o.line);
    require_power_of_two("predictor_entries", o.predictor_entries);
    require_power_of_two("alias_bytes", o.alias_bytes);
    if (o.fetch_bytes != 0)
        require_power_of_two("fetch_bytes", o.fetch_bytes);
    if (o.pipeline && (o.blocking || o.fetch_bytes || !o.store_buffer))
        refuse("pipeline", ": needs blocking=0, fetch_bytes=0 and a store buffer");
    if (o.width > 2 && !o.out_of_order)
        refuse("width", ": above 2 needs out_of_order=1");
    if (o.out_of_order && (o.pipeline || o.blocking || o.fetch_bytes || !o.store_buffer))
        refuse("out_of_order", ": needs pipeline=0, blocking=0, fetch_bytes=0 and a store buffer");
    if (o.micro_operations && !o.pipeline && !o.out_of_order)
        refuse("micro_operations", ": needs pipeline=1 or out_of_order=1");
    if (o.link >= 0 && o.warm)
        refuse("warm", ": a memory simulator begins with empty caches");
    require_cache("l1_size", o.l1_size, o.l1_ways, o.line);
    require_cache("l2_size", o.l2_size, o.l2_ways, o.line);
    if (o.l2_size < o.l1_size) {
        refuse("l2_size", ": the shared L2 holds every line of the L1 and cannot be smaller than "
                          "l1_size");
    }
}

void set_option(Options &options, std::string_view argument) {
    size_t equals = argument.find('=');
    std::string_view name = argument.substr(0, equals);
    if (equals == std::string_view::npos)
        refuse(name, ": expected name=value");
    std::string_view text = argument.substr(equals + 1);
    if (name == "out") {
        options.out = text;
    } else if (name == "events") {
        options.events = text;
    } else if (name == "max_instructions") {
        options.max_instructions =
            parse_number(name, text, 0, UINT64_MAX, "instructions over all cores; 0: no limit");
    } else if (name == "clock_mhz") {
        options.clock_mhz =
            uint32_t(parse_number(name, text, 1, UINT32_MAX, "the clock of the event log"));
    } else if (name == "execute_loops") {
        options.execute_loops = parse_number(name, text, 0, 1, "1: QEMU executes all of a wait");
    } else if (name == "own_threads") {
        options.own_threads = parse_number(name, text, 0, 1, "1: each core has a host thread");
    } else if (name == "link") {
        options.link = int(parse_number(name, text, 0, INT32_MAX, "a file descriptor"));
    } else {
        for (const OptionSpec &spec : option_specs()) {
            if (name == spec.name) {
                options.*spec.field =
                    uint32_t(parse_number(name, text, spec.low, spec.high, spec.meaning));
                return;
            }
        }
        refuse(name, " is unknown");
    }
}

} // namespace

const std::vector<OptionSpec> &option_specs() {
    using O = Options;
    // Name, field, default, lowest, highest, meaning.
    static const std::vector<OptionSpec> specs = {
        // The core.
        {"width", &O::width, 1, 1, 16,
         "instructions issued a cycle; above 2 out of order only: that enter the window"},
        {"lat_alu", &O::lat_alu, 1, 1, 100, "cycles to the result of a simple operation"},
        {"lat_mul", &O::lat_mul, 3, 1, 1000, "cycles to the result of a multiplication"},
        {"lat_div", &O::lat_div, 20, 1, 1000, "cycles to the result of a division"},
        // With pipeline=1 taken_branch is instead the latency of fetching a line of code, and
        // mispredict counts from the branch's commit to the commit of the next instruction.
        {"taken_branch", &O::taken_branch, 1, 0, 1000, "cycles added by a taken branch"},
        {"mispredict", &O::mispredict, 8, 0, 1000, "cycles added by a mispredicted branch"},
        {"predictor_entries", &O::predictor_entries, 1024, 1, 1 << 20,
         "two-bit counters of the branch predictor; a power of two"},
        // No store buffer then, so a fence has nothing to drain.
        {"blocking", &O::blocking, 0, 0, 1, "1: every load and store holds the core until done"},
        // Each instruction is fetched by itself: one that lies in two chunks takes a cycle more.
        {"fetch_bytes", &O::fetch_bytes, 0, 0, 64,
         "bytes of the aligned chunk fetched in a cycle; a power of two; 0: fetch takes no time"},
        {"pipeline", &O::pipeline, 0, 0, 1,
         "1: stages, queues and units of gem5's MinorCPU; 0: a static schedule"},
        // No x86 branch is predicted then: gem5 marks only its last micro-operation as a branch.
        {"micro_operations", &O::micro_operations, 0, 0, 1,
         "1: x86 and AArch64 instructions are cracked as gem5 does; not with a static schedule"},
        // Out of order: everything here is used with out_of_order=1 alone. There mispredict counts
        // from the branch's execution to the fetch of the right path.
        {"out_of_order", &O::out_of_order, 0, 0, 1, "1: an instruction window; 0: in order"},
        {"fetch_width", &O::fetch_width, 8, 1, 64, "micro-operations fetched a cycle"},
        {"fetch_line", &O::fetch_line, 0, 0, 1000,
         "cycles from fetching in one line of code until fetching in the next; 0: it goes on at "
         "once"},
        {"front_end", &O::front_end, 5, 0, 100, "cycles from fetch to the window"},
        {"predictor_history", &O::predictor_history, 0, 0, 32,
         "branches of history that a second table of counters uses; 0: there is none"},
        {"fuse_branches", &O::fuse_branches, 0, 0, 1,
         "1: a conditional branch behind a comparison is one micro-operation with it"},
        {"rob", &O::rob, 224, 1, 4096, "entries of the reorder buffer"},
        {"scheduler", &O::scheduler, 97, 1, 4096, "entries for what waits for operands"},
        {"load_queue", &O::load_queue, 72, 1, 4096, "entries for loads until they retire"},
        {"miss_buffers", &O::miss_buffers, 10, 1, 4096, "L1 misses at a time"},
        {"retire_delay", &O::retire_delay, 0, 0, 100, "cycles from a result to retirement"},
        {"retire_width", &O::retire_width, 4, 1, 64, "micro-operations retired a cycle"},
        {"squash_width", &O::squash_width, 0, 0, 64,
         "micro-operations a cycle that leave the window when a branch was mispredicted, before "
         "others enter; 0: all at once"},
        {"alu_ports", &O::alu_ports, 4, 1, 16, "simple operations a cycle"},
        {"load_ports", &O::load_ports, 2, 1, 16, "loads a cycle"},
        {"store_ports", &O::store_ports, 1, 1, 16, "stores executed a cycle"},
        {"lat_issue", &O::lat_issue, 0, 0, 100,
         "cycles from issue of an access until it reaches the L1, beside lat_l1"},
        {"lat_forward", &O::lat_forward, 5, 0, 1000,
         "cycles of a load of just what an older store wrote; 0: the core renames memory"},
        {"lat_forward_part", &O::lat_forward_part, 5, 0, 1000,
         "cycles of a load of a part of what an older store wrote"},
        {"forward_fail", &O::forward_fail, 10, 0, 1000,
         "cycles added to a load that an older store covers in part, after that has drained"},
        {"lat_drain", &O::lat_drain, 1, 0, 1000,
         "cycles of a store from its access to a line that the core owns until all see it"},
        {"lat_pause", &O::lat_pause, 0, 0, 1000,
         "cycles that x86's pause holds up all that follows; 0: it does nothing"},
        {"alias_bytes", &O::alias_bytes, 1, 1, 4096,
         "a load waits for an older store to the same aligned block of so many bytes to execute, "
         "and that for the one before; a power of two; 1: for one that overlaps"},
        {"unpredicted_stores", &O::unpredicted_stores, 0, 0, 1,
         "1: a load that enters behind an unfinished fence or atomic does not wait for older "
         "stores "
         "to execute; if one aliases, the load is squashed and fetched again"},
        {"atomic_micro_ops", &O::atomic_micro_ops, 1, 1, 64,
         "places in fetch, window and retirement that an atomic takes"},
        {"atomic_tail", &O::atomic_tail, 0, 0, 1000,
         "cycles from an atomic's end until a store behind it, or a load of what it wrote, can "
         "have the cache; another atomic need not wait for them"},
        {"lat_oldest", &O::lat_oldest, 0, 0, 100,
         "cycles until that starts which waits until it is the oldest"},
        {"atomic_start", &O::atomic_start, 2, 0, 2,
         "0: an atomic starts at once; 1: when it is the oldest; 2: and all stores have drained"},
        {"atomic_loads", &O::atomic_loads, 0, 0, 1,
         "loads behind an atomic: 0: wait for its end; 1: may pass it"},
        {"full_fence", &O::full_fence, 0, 0, 1,
         "behind a full fence 0: loads and stores, 1: everything waits for its end"},
        {"store_order", &O::store_order, 1, 0, 2,
         "stores drain 0: in any order; 1: in order; 2: one after another"},
        {"acquire_load", &O::acquire_load, 0, 0, 1,
         "an acquire load 0: waits for older release stores; 1: does not"},
        // Caches and coherence. Fills and transfers are added to lat_l1.
        {"line", &O::line, 64, 16, 1024, "bytes of a cache line; a power of two"},
        {"l1_size", &O::l1_size, 32768, 64, 1 << 26, "bytes of a private L1 data cache"},
        {"l1_ways", &O::l1_ways, 8, 1, 64, "ways of the L1"},
        {"lat_l1", &O::lat_l1, 2, 0, 1000, "cycles from load to use of an L1 hit"},
        {"l2_size", &O::l2_size, 2097152, 64, 1 << 30, "bytes of the shared L2"},
        {"l2_ways", &O::l2_ways, 16, 1, 64, "ways of the L2"},
        {"lat_l2", &O::lat_l2, 12, 0, kMaxLatency, "cycles of a clean fill from the L2"},
        {"lat_memory", &O::lat_memory, 150, 0, kMaxLatency, "cycles of a fill from memory"},
        {"lat_dirty", &O::lat_dirty, 40, 0, kMaxLatency,
         "cycles to take a line from another core's E or M copy"},
        {"lat_upgrade", &O::lat_upgrade, 12, 0, kMaxLatency, "cycles of an upgrade from S to M"},
        {"lat_invalidate", &O::lat_invalidate, 20, 0, kMaxLatency,
         "cycles added when other copies must be invalidated"},
        {"store_buffer", &O::store_buffer, 8, 0, 1024,
         "entries of the store buffer; 0: a store holds the core until done"},
        {"warm", &O::warm, 0, 0, 1,
         "1: the first access to a line finds it in the L1, as if it had been used before"},
        // Atomics: added to the access of a line that the core owns; with load-linked and
        // store-conditional, to the latter.
        {"cas_success", &O::cas_success, 20, 0, kMaxLatency, "cycles added to a CAS that won"},
        {"cas_failure", &O::cas_failure, 20, 0, kMaxLatency, "cycles added to a CAS that lost"},
        {"rmw", &O::rmw, 20, 0, kMaxLatency, "cycles added to any other atomic"},
        // Fences: their own latency, after the drain where the fence waits for one.
        {"fence_mfence", &O::fence_mfence, 30, 0, kMaxLatency,
         "cycles of x86 mfence, after the drain"},
        {"fence_lfence", &O::fence_lfence, 4, 0, kMaxLatency, "cycles of x86 lfence"},
        {"fence_sfence", &O::fence_sfence, 4, 0, kMaxLatency, "cycles of x86 sfence"},
        {"fence_hwsync", &O::fence_hwsync, 30, 0, kMaxLatency,
         "cycles of POWER hwsync, after the drain"},
        {"fence_lwsync", &O::fence_lwsync, 8, 0, kMaxLatency, "cycles of POWER lwsync"},
        {"fence_isync", &O::fence_isync, 8, 0, kMaxLatency, "cycles of POWER isync"},
        {"fence_dmb", &O::fence_dmb, 30, 0, kMaxLatency, "cycles of Arm dmb, after the drain"},
        {"fence_dmb_ld", &O::fence_dmb_ld, 8, 0, kMaxLatency, "cycles of Arm dmb ld"},
        {"fence_dmb_st", &O::fence_dmb_st, 8, 0, kMaxLatency, "cycles of Arm dmb st"},
        {"fence_dsb", &O::fence_dsb, 40, 0, kMaxLatency, "cycles of Arm dsb, after the drain"},
        {"fence_isb", &O::fence_isb, 10, 0, kMaxLatency, "cycles of Arm isb"},
        // Costs of the operating system.
        {"charge_stop", &O::charge_stop, 5000, 0, kMaxLatency, "cycles to stop another thread"},
        {"charge_park", &O::charge_park, 2000, 0, kMaxLatency, "cycles to suspend oneself"},
        {"charge_unpark", &O::charge_unpark, 1000, 0, kMaxLatency, "cycles to wake another thread"},
        {"charge_wake", &O::charge_wake, 2000, 0, kMaxLatency, "cycles of being woken"},
        {"charge_switch", &O::charge_switch, 500, 0, kMaxLatency,
         "cycles of a core to take up a thread"},
        // Core i starts at a cycle drawn from the seed in [0, offset_max], and counts from there.
        {"seed", &O::seed, 0, 0, UINT32_MAX, "seed of the start cycles"},
        {"offset_max", &O::offset_max, 0, 0, kMaxLatency, "latest start cycle of a core"},
    };
    return specs;
}

Options::Options() {
    for (const OptionSpec &spec : option_specs())
        this->*spec.field = spec.value;
}

Options parse_options(const std::vector<std::string_view> &arguments) {
    Options options;
    for (std::string_view argument : arguments)
        set_option(options, argument);
    check_together(options);
    return options;
}

} // namespace lockcross
