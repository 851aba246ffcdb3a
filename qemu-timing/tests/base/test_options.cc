#include "base/options.h"

#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

using namespace lockcross;

static std::string error_of(std::vector<std::string_view> arguments) {
    try {
        parse_options(arguments);
    } catch (const OptionError &error) {
        return error.what();
    }
    return "";
}

TEST_CASE("options: given values replace the defaults") {
    Options options =
        parse_options({"cas_success=77", "out=/tmp/x", "max_instructions=5000000000"});
    CHECK(options.cas_success == 77);
    CHECK(options.cas_failure == Options().cas_failure);
    CHECK(options.out == "/tmp/x");
    CHECK(options.max_instructions == 5000000000u);
}

TEST_CASE("options: what is refused is named") {
    CHECK(error_of({"casual=1"}) == "option casual is unknown");
    CHECK(error_of({"width"}) == "option width: expected name=value");
    CHECK(error_of({"width=three"}) == "option width: 'three' is not a whole number");
    CHECK(error_of({"width=-1"}) == "option width: '-1' is not a whole number");
    CHECK(error_of({"width="}) == "option width: '' is not a whole number");
    CHECK(error_of({"width=17"}) == "option width: 17 is not between 1 and 16 (instructions issued "
                                    "a cycle; above 2 out of order only: that enter the window)");
    CHECK(error_of({"line=48"}) == "option line: 48 is not a power of two");
    CHECK(error_of({"l1_size=3000"}).find("option l1_size") == 0);
    CHECK(error_of({"l2_size=16384", "l2_ways=16"}).find("option l2_size") == 0);
    CHECK(error_of({"predictor_entries=100"}).find("option predictor_entries") == 0);
    CHECK(error_of({"fetch_bytes=12"}) == "option fetch_bytes: 12 is not a power of two");
    CHECK(error_of({"fetch_bytes=0"}) == "");
    CHECK(error_of({"out_of_order=1", "time_of_flight=1", "store_atomics=2"}) == "");
    CHECK(error_of({"out_of_order=1", "store_atomics=2"}).find("option store_atomics: far") == 0);
    CHECK(error_of({"time_of_flight=1", "returning_atomics=1"})
              .find("option returning_atomics: far ones need out_of_order=1") == 0);
    CHECK(error_of({}) == "");
}

TEST_CASE("options: a number of any length is compared, not cut off") {
    for (const char *option : {"seed=4294967296", "seed=99999999999999999999", "clock_mhz=0",
                               "clock_mhz=4294967296", "max_instructions=18446744073709551616"})
        CHECK_MESSAGE(error_of({option}).find("is not between") != std::string::npos, option);
    CHECK(parse_options({"seed=4294967295"}).seed == 4294967295);
}

TEST_CASE("options: every default is within its own bounds") {
    for (const OptionSpec &spec : option_specs()) {
        CHECK_MESSAGE(spec.value >= spec.low, spec.name);
        CHECK_MESSAGE(spec.value <= spec.high, spec.name);
    }
}
