#include "base/counts.h"
#include "base/options.h"
#include "output/report.h"

#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace lockcross;
using Json = nlohmann::ordered_json;

namespace {

std::vector<std::string> keys(const Json &object) {
    std::vector<std::string> found;
    for (const auto &member : object.items())
        found.push_back(member.key());
    return found;
}

} // namespace

TEST_CASE("report: every core and phase with its counts, numbers exact") {
    std::vector<Counts> counts(2);
    counts[1].instructions = UINT64_MAX;
    counts[1].cas_won = 3;
    counts[1].fences[size_t(Fence::DmbLd)] = 4;
    counts[1].stalls[size_t(Stall::Drain)] = 5;
    counts[1].coherence[size_t(CoherenceEvent::Evicted)][size_t(Mesi::M)] = 6;
    Report report;
    report.isa = "aarch64";
    report.complete = true;
    report.starts = {0, 7};
    report.cycles = {10, UINT64_MAX};
    report.phases = {{1, 2, 30, counts[1]}};
    std::string text = to_json(report, Options(), counts);
    CHECK(text.back() == '\n');
    Json document = Json::parse(text);
    CHECK(document["isa"] == "aarch64");
    CHECK(document["complete"] == true);
    CHECK(document["options"]["lat_memory"] == Options().lat_memory);
    REQUIRE(document["cores"].size() == 2);
    const Json &core = document["cores"][1];
    CHECK(core["core"] == 1);
    CHECK(core["start"] == 7);
    CHECK(core["cycles"] == UINT64_MAX);
    CHECK(core["instructions"] == UINT64_MAX);
    CHECK(core["cas"]["won"] == 3);
    CHECK(core["fences"]["dmb_ld"] == 4);
    CHECK(core["stalls"]["drain"] == 5);
    CHECK(core["coherence"]["evicted"]["M"] == 6);
    REQUIRE(document["phases"].size() == 1);
    const Json &phase = document["phases"][0];
    CHECK(phase["phase"] == 2);
    CHECK(phase["cycle"] == 30);
    CHECK(phase["fences"] == core["fences"]);
}

TEST_CASE("report: members keep their order") {
    Json document = Json::parse(to_json(Report(), Options(), {}));
    CHECK(keys(document) == std::vector<std::string>{"engine", "version", "isa", "complete",
                                                     "options", "handovers", "cores", "phases"});
    CHECK(keys(document["options"]).front() == option_specs().front().name);
    CHECK(keys(document["options"]).back() == "max_instructions");
    CHECK(document["cores"] == Json::array());
    CHECK(document["phases"] == Json::array());
}
