// The options of a run. One table (options.cc) has the name, default, bounds and meaning of each.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockcross {

// Latencies are in cycles, sizes in bytes.
struct Options {
    uint32_t width, lat_alu, lat_mul, lat_div, taken_branch, mispredict, predictor_entries,
        blocking, fetch_bytes, pipeline, micro_operations;
    uint32_t out_of_order, fetch_width, fetch_line, front_end, predictor_history, fuse_branches;
    uint32_t rob, scheduler, load_queue, miss_buffers, retire_delay, retire_width, squash_width;
    uint32_t alu_ports, load_ports, store_ports, lat_issue, lat_forward, lat_forward_part,
        forward_fail, lat_drain, lat_pause, alias_bytes, unpredicted_stores;
    uint32_t atomic_micro_ops, atomic_tail, lat_oldest;
    uint32_t atomic_start, atomic_loads, full_fence, store_order, acquire_load;
    uint32_t line, l1_size, l1_ways, lat_l1, l2_size, l2_ways, lat_l2, lat_memory;
    uint32_t lat_dirty, lat_upgrade, lat_invalidate, store_buffer, warm;
    uint32_t cas_success, cas_failure, rmw;
    uint32_t fence_mfence, fence_lfence, fence_sfence, fence_hwsync, fence_lwsync, fence_isync;
    uint32_t fence_dmb, fence_dmb_ld, fence_dmb_st, fence_dsb, fence_isb;
    uint32_t charge_stop, charge_park, charge_unpark, charge_wake, charge_switch;
    uint32_t seed, offset_max;

    // Not in the table: they are wider, or nothing simulated depends on them.
    uint64_t max_instructions = 0; // over all cores; 0: no limit
    std::string out, events;       // where the report and the event log go; empty: nowhere
    uint32_t clock_mhz = 1000;     // the clock that the event log names
    bool execute_loops = false;    // QEMU executes loops that only wait, too: for tests
    bool own_threads = false;      // each core's code on its own host thread: the same cycles
    int link =
        -1; // file descriptor of the region shared with a memory simulator; -1: there is none

    Options(); // the defaults
};

// Names the option that is refused, and says what is allowed.
struct OptionError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct OptionSpec {
    const char *name;
    uint32_t Options::*field;
    uint32_t value, low, high; // default and bounds, inclusive
    const char *meaning;
};

const std::vector<OptionSpec> &option_specs();

// Reads "name=value" strings over the defaults. Throws OptionError for an unknown name, a value
// that is no whole number or out of bounds, and values that do not fit together.
Options parse_options(const std::vector<std::string_view> &arguments);

} // namespace lockcross
