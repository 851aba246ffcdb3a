#include "base/options.h"

#include <bit>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace lockcross {

namespace {

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
    if (value != 0 &&
        !std::has_single_bit(value)) // 0, where it is allowed, says that there is none
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
#define NUMBER(...)
#define POWER_OF_TWO(name, ...) require_power_of_two(#name, o.name);
#include "base/options.def"
    if (o.pipeline && (o.blocking || o.fetch_bytes || !o.store_buffer))
        refuse("pipeline", ": needs blocking=0, fetch_bytes=0 and a store buffer");
    if (o.width > 2 && !o.out_of_order)
        refuse("width", ": above 2 needs out_of_order=1");
    if (o.out_of_order && (o.pipeline || o.blocking || o.fetch_bytes || !o.store_buffer))
        refuse("out_of_order", ": needs pipeline=0, blocking=0, fetch_bytes=0 and a store buffer");
    if (o.micro_operations && !o.pipeline && !o.out_of_order)
        refuse("micro_operations", ": needs pipeline=1 or out_of_order=1");
    if (o.pipeline && (o.charge_falls_asleep || o.charge_sleeps_long))
        refuse("charge_falls_asleep", " and charge_sleeps_long: need pipeline=0");
    bool far = o.returning_atomics || o.store_atomics;
    if (far && (!o.out_of_order || o.micro_operations || !o.time_of_flight || o.link >= 0)) {
        refuse(o.returning_atomics ? "returning_atomics" : "store_atomics",
               ": far ones need out_of_order=1, micro_operations=0, time_of_flight=1 and no memory "
               "simulator");
    }
    if (o.link >= 0 && o.cluster)
        refuse("cluster", ": a memory simulator has distances of its own");
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
    } else if (name == "max_cpu_ms") {
        options.max_cpu_ms =
            parse_number(name, text, 0, UINT64_MAX, "milliseconds of CPU time; 0: no limit");
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
    static const std::vector<OptionSpec> specs = {
#define NUMBER(name, value, low, high, meaning) {#name, &Options::name, value, low, high, meaning},
#include "base/options.def"
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
