#include "output/report.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace lockcross {

namespace {

// Keeps its members in the order in which they are added, so that a report reads as it is written.
using Json = nlohmann::ordered_json;

template <size_t N>
Json by_name(const std::array<const char *, N> &names, const std::array<uint64_t, N> &values) {
    Json object = Json::object();
    for (size_t i = 0; i < N; i++)
        object[names[i]] = values[i];
    return object;
}

// Adds what the instructions of a core did.
void add_work(Json &object, const Counts &counts) {
    object["instructions"] = counts.instructions;
    object["loads"] = counts.loads;
    object["stores"] = counts.stores;
    object["cas"] = {{"won", counts.cas_won}, {"lost", counts.cas_lost}};
    object["rmw"] = counts.rmw;
    object["fences"] = by_name(kFenceNames, counts.fences);
}

Json core_json(size_t core, Cycle start, Cycle cycles, const Counts &counts) {
    Json object = {{"core", core}, {"start", start}, {"cycles", cycles}};
    add_work(object, counts);
    object["reservations_lost"] = counts.reservations_lost;
    Json &charges = object["charges"] = by_name(kChargeNames, counts.charges);
    // "stop" has every stop; those of threads that do not run are told beside it.
    charges[kChargeNames[size_t(Charge::StopRunning)]] =
        counts.charges[size_t(Charge::StopRunning)] + counts.charges[size_t(Charge::StopBlocked)] +
        counts.charges[size_t(Charge::StopEnded)];
    // Few programs have these: without any, nothing is said of them.
    for (Charge kind : {Charge::Barrier, Charge::Yield, Charge::StopBlocked, Charge::StopEnded})
        if (counts.charges[size_t(kind)] == 0)
            charges.erase(kChargeNames[size_t(kind)]);
    if (counts.interrupts)
        charges["interrupted"] = counts.interrupts;
    object["holds"] = counts.holds;
    object["stalls"] = by_name(kStallNames, counts.stalls);
    Json &coherence = object["coherence"];
    for (size_t event = 0; event < kCoherenceEventNames.size(); event++)
        coherence[kCoherenceEventNames[event]] = by_name(kMesiNames, counts.coherence[event]);
    return object;
}

Json phase_json(const PhaseMark &mark) {
    Json object = {{"core", mark.core}, {"phase", mark.phase}, {"cycle", mark.cycle}};
    add_work(object, mark.counts);
    return object;
}

Json options_json(const Options &options) {
    Json object = Json::object();
    for (const OptionSpec &spec : option_specs())
        object[spec.name] = options.*spec.field;
    object["max_instructions"] = options.max_instructions;
    return object;
}

} // namespace

std::string to_json(const Report &report, const Options &options,
                    const std::vector<Counts> &counts) {
    Json cores = Json::array(), phases = Json::array();
    for (size_t core = 0; core < counts.size(); core++)
        cores.push_back(core_json(core, report.starts[core], report.cycles[core], counts[core]));
    for (const PhaseMark &mark : report.phases)
        phases.push_back(phase_json(mark));
    Json document = {{"engine", "qemu-timing"},
                     {"version", kVersion},
                     {"isa", report.isa},
                     {"complete", report.complete},
                     {"options", options_json(options)},
                     {"handovers", report.handovers},
                     {"cores", std::move(cores)},
                     {"phases", std::move(phases)}};
    if (const std::optional<MemoryUse> &use = report.memory_system) {
        document["memory_system"] = {{"requests", use->requests},
                                     {"touches", use->touches},
                                     {"turns", use->turns},
                                     {"late", use->late}};
    }
    return document.dump() + "\n";
}

} // namespace lockcross
