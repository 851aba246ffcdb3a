// The command line of every client: explores it under one model and prints the result.
#include "client/native.h"
#include "client/running.h"
#include "prove.h"
#include "report/report.h"
#include "search/search.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace prove;

constexpr int kProved = 0, kFailed = 1, kUsage = 2, kBound = 3;

[[noreturn]] void usage(const char *message, const char *argument) {
    std::fprintf(stderr,
                 "prover: %s: %s\n"
                 "usage: --model sc|tso|tso-wait|weak|weak-si [--states N] [--seconds S] "
                 "[--buffer N] [--random N] [--seed N] [--depth-first] [--no-subsumption] "
                 "[--at-once N] [--parameter N] "
                 "[--junk N] [--text]\n",
                 message, argument);
    std::exit(kUsage);
}

Model model_named(const char *name) {
    for (Model model : {Model::kSc, Model::kTso, Model::kTsoWait, Model::kWeak, Model::kWeakSi}) {
        if (std::strcmp(name, name_of(model)) == 0)
            return model;
    }
    usage("no such model", name);
}

uint64_t number(const char *option, const char *text) {
    char *end = nullptr;
    uint64_t value = std::strtoull(text, &end, 10);
    if (end == text || *end != '\0')
        usage("not a number after this option", option);
    return value;
}

struct CommandLine {
    SearchOptions search;
    bool text = false;
    uint64_t junk = 0;
};

CommandLine parse(int argc, char **argv) {
    CommandLine line;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        auto is = [&](const char *name) { return std::strcmp(option, name) == 0; };
        if (is("--text") || is("--depth-first")) {
            (is("--text") ? line.text : line.search.depth_first) = true;
            continue;
        }
        if (is("--no-subsumption")) {
            line.search.subsumption = false;
            continue;
        }
        if (i + 1 == argc)
            usage("unknown, or without a value", option);
        const char *value = argv[++i];
        if (is("--model"))
            line.search.model = model_named(value);
        else if (is("--states"))
            line.search.most_states = number(option, value);
        else if (is("--seconds"))
            line.search.most_seconds = static_cast<double>(number(option, value));
        else if (is("--buffer"))
            line.search.bounds.buffer = static_cast<unsigned>(number(option, value));
        else if (is("--random"))
            line.search.random_runs = number(option, value);
        else if (is("--seed"))
            line.search.seed = number(option, value);
        else if (is("--at-once"))
            line.search.at_once = number(option, value);
        else if (is("--parameter"))
            prove_parameter = static_cast<unsigned>(number(option, value));
        else if (is("--junk"))
            line.junk = number(option, value);
        else
            usage("unknown option", option);
    }
    return line;
}

} // namespace

int main(int argc, char **argv) {
    CommandLine line = parse(argc, argv);
    if (prove_threads == 0 || prove_threads > kMaxThreads)
        usage("a client has 1 to 8 threads", "prove_threads");
    Native native;
    std::string failed = native.set_up();
    if (!failed.empty())
        usage("prove_setup failed", failed.c_str());
    native.fill_dead_with_junk(line.junk);
    running.direct = false;
    running.weak = line.search.model >= Model::kWeak;
    running.tso = line.search.model == Model::kTso || line.search.model == Model::kTsoWait;
    SearchResult result = Search(native, prove_threads, line.search).run();
    (line.text ? print_text : print_json)(stdout, line.search, result, processor_seconds());
    return result.failure ? kFailed : result.bound.empty() ? kProved : kBound;
}
