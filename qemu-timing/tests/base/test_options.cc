#include "base/options.h"

#include <doctest/doctest.h>

using namespace lockcross;

static std::string error_of(std::vector<std::string_view> arguments) {
    try {
        parse_options(arguments);
    } catch (const OptionError &error) {
        return error.what();
    }
    return "";
}

TEST_CASE("options: defaults stand, given values replace them") {
    Options options =
        parse_options({"cas_success=77", "out=/tmp/x", "max_instructions=5000000000"});
    CHECK(options.cas_success == 77);
    CHECK(options.cas_failure == Options().cas_failure);
    CHECK(options.out == "/tmp/x");
    CHECK(options.max_instructions == 5000000000u);
}

TEST_CASE("options: what is wrong is named") {
    CHECK(error_of({"casual=1"}) == "option casual is unknown");
    CHECK(error_of({"width"}) == "option width: name=value is expected");
    CHECK(error_of({"width=three"}) == "option width: 'three' is not a whole number");
    CHECK(error_of({"width=-1"}) == "option width: '-1' is not a whole number");
    CHECK(error_of({"width="}) == "option width: '' is not a whole number");
    CHECK(error_of({"width=3"}) == "option width: 3 is not between 1 and 2");
    CHECK(error_of({"line=48"}) == "option line: 48 is not a power of two");
    CHECK(error_of({"l1_size=3000"}).find("option l1_size") == 0);
    CHECK(error_of({"l2_size=16384", "l2_ways=16"}).find("option l2_size") == 0);
    CHECK(error_of({"predictor_entries=100"}).find("option predictor_entries") == 0);
    CHECK(error_of({"fetch_bytes=12"}) == "option fetch_bytes: 12 is neither 0 nor a power of two");
    CHECK(error_of({"fetch_bytes=0"}) == "");
    CHECK(error_of({}) == "");
}

TEST_CASE("options: every default is within its own bounds") {
    for (const OptionSpec &spec : option_specs()) {
        CHECK_MESSAGE(spec.value >= spec.low, spec.name);
        CHECK_MESSAGE(spec.value <= spec.high, spec.name);
    }
}
