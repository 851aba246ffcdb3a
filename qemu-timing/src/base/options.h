// The options of a run. One table (options.def) has the name, default, bounds and meaning of each.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockcross {

#define BOUND(name, value) constexpr uint32_t name = value;
#define NUMBER(...)
#define CHOICE(name, value, meaning, ...)                                                          \
    namespace name {                                                                               \
    enum Value : uint32_t { __VA_ARGS__, kValues };                                                \
    }
#include "base/options.def"

// Latencies are in cycles, sizes in bytes.
struct Options {
#define NUMBER(name, ...) uint32_t name;
#include "base/options.def"

    // Not in the table: they are wider, or nothing simulated depends on them.
    uint64_t max_instructions = 0; // over all cores; 0: no limit
    uint64_t max_cpu_ms = 0;       // of this process; 0: no limit
    std::string out, events;       // where the report and the event log go; empty: nowhere
    uint32_t clock_mhz = 1000;     // the clock that the event log names
    bool execute_loops = false;    // QEMU executes loops that only wait, too: for tests
    bool own_threads = false;      // each core's code on its own host thread: the same cycles
    int link =
        -1; // file descriptor of the region shared with a memory simulator; -1: there is none

    Options(); // the defaults

    // Whether two cores are of two clusters.
    bool are_far(uint32_t one, uint32_t other) const {
        return cluster && one / cluster != other / cluster;
    }
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
