#include "output/report.h"

#include <array>

namespace lockcross {

namespace {

template <size_t N>
std::string object(const std::array<const char *, N> &names,
                   const std::array<uint64_t, N> &values) {
    std::string text = "{";
    for (size_t i = 0; i < N; i++) {
        if (i)
            text += ",";
        text += "\"" + std::string(names[i]) + "\":" + std::to_string(values[i]);
    }
    return text + "}";
}

std::string member(const char *name, uint64_t value) {
    return "\"" + std::string(name) + "\":" + std::to_string(value);
}

// What the instructions of a core did; without the braces.
std::string work_members(const Counts &counts) {
    return member("instructions", counts.instructions) + "," + member("loads", counts.loads) + "," +
           member("stores", counts.stores) + ",\"cas\":{" + member("won", counts.cas_won) + "," +
           member("lost", counts.cas_lost) + "}," + member("rmw", counts.rmw) +
           ",\"fences\":" + object(kFenceNames, counts.fences);
}

std::string core_json(size_t core, Cycle start, Cycle cycles, const Counts &counts) {
    std::string text = "{" + member("core", core) + "," + member("start", start) + "," +
                       member("cycles", cycles) + "," + work_members(counts) + "," +
                       member("reservations_lost", counts.reservations_lost) +
                       ",\"charges\":" + object(kChargeNames, counts.charges) + "," +
                       member("holds", counts.holds) +
                       ",\"stalls\":" + object(kStallNames, counts.stalls) + ",\"coherence\":{";
    for (size_t event = 0; event < kEventNames.size(); event++) {
        if (event)
            text += ",";
        text += "\"" + std::string(kEventNames[event]) + "\":";
        text += object(kMesiNames, counts.coherence[event]);
    }
    return text + "}}";
}

std::string options_json(const Options &options) {
    std::string text = "{";
    for (const OptionSpec &spec : option_specs())
        text += member(spec.name, options.*spec.field) + ",";
    return text + member("max_instructions", options.max_instructions) + "}";
}

} // namespace

std::string to_json(const Report &report, const Options &options,
                    const std::vector<Counts> &counts) {
    std::string text = "{\"engine\":\"qemu-timing\",\"version\":\"" + std::string(kVersion) +
                       "\",\"isa\":\"" + report.isa +
                       "\",\"complete\":" + (report.complete ? "true" : "false") +
                       ",\"options\":" + options_json(options) + "," +
                       member("handovers", report.handovers) + ",\"cores\":[";
    for (size_t core = 0; core < counts.size(); core++) {
        if (core)
            text += ",";
        text += core_json(core, report.starts[core], report.cycles[core], counts[core]);
    }
    text += "],\"phases\":[";
    for (size_t i = 0; i < report.phases.size(); i++) {
        const PhaseMark &mark = report.phases[i];
        if (i)
            text += ",";
        text += "{" + member("core", mark.core) + "," + member("phase", mark.phase) + "," +
                member("cycle", mark.cycle) + "," + work_members(mark.counts) + "}";
    }
    return text + "]}\n";
}

} // namespace lockcross
