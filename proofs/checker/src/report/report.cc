#include "report/report.h"

#include "report/symbols.h"

#include <algorithm>
#include <cinttypes>
#include <memory>

namespace prove {

namespace {

const char *const kOrders[] = {"rlx", "con", "acq", "rel", "acq_rel", "sc"};
const char *const kUpdates[] = {"swap", "add", "sub", "and", "or", "xor", "nand"};

// A row as people read it.
struct ShownRow {
    std::string thread, place, function, access, object, value, buffer;
    unsigned bytes = 0;
};

std::string hex(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, value < 10 ? "%" PRIx64 : "0x%" PRIx64, value);
    return text;
}

std::string access_of(const Row &row) {
    const Operation &op = row.op;
    std::string order = std::string(" ") + kOrders[static_cast<unsigned>(op.order)];
    if (row.drain)
        return "becomes visible";
    switch (op.kind) {
    case Kind::kPlainLoad:
        return "load plain";
    case Kind::kPlainStore:
        return "store plain";
    case Kind::kLoad:
        return "load" + order;
    case Kind::kStore:
        return "store" + order;
    case Kind::kRmw:
        return kUpdates[static_cast<unsigned>(op.update)] + order;
    case Kind::kCas:
        return (row.value == op.expected ? "cas" : "cas fails") + order;
    case Kind::kFence:
        return "fence" + order;
    case Kind::kInterrupt:
        return "interrupts thread " + std::to_string(row.value);
    case Kind::kWait:
        return "looks again";
    case Kind::kBeyond:
        return "beyond the bound";
    case Kind::kEnd:
        return "ends";
    case Kind::kFail:
        return "fails";
    }
    return {};
}

std::string value_of(const Row &row) {
    const Operation &op = row.op;
    if (row.waits || op.kind >= Kind::kFence)
        return {};
    std::string value = hex(row.value);
    if (op.is_update()) {
        uint64_t fresh = updated(op, row.value);
        if (fresh != row.value)
            value += " -> " + hex(fresh);
    }
    return value;
}

ShownRow shown(const Row &row, const Symbols &symbols) {
    ShownRow result;
    result.thread = std::to_string(row.thread);
    const std::vector<SourceLine> &lines = symbols.at(row.op.return_address);
    // The innermost function that is not a primitive's own header says most: both are given.
    if (!lines.empty()) {
        auto outer = std::find_if(lines.begin(), lines.end(), [](const SourceLine &line) {
            return line.file != "arch.h" && line.file != "model.h" &&
                   !line.file.starts_with("order_");
        });
        const SourceLine &line = outer == lines.end() ? lines.front() : *outer;
        result.place = line.file + ":" + std::to_string(line.line);
        result.function = line.function;
    }
    result.access = row.waits ? "waits for ever at " + access_of(row) : access_of(row);
    if (row.op.is_plain() || row.op.is_atomic()) {
        result.object = symbols.data(row.op.address);
        result.bytes = row.op.size;
    }
    result.value = value_of(row);
    result.buffer = row.detail;
    return result;
}

std::vector<ShownRow> shown(const SearchResult &result) {
    std::vector<uint64_t> return_addresses;
    for (const Row &row : result.trace)
        return_addresses.push_back(row.op.return_address);
    Symbols symbols(return_addresses);
    std::vector<ShownRow> rows;
    for (const Row &row : result.trace)
        rows.push_back(shown(row, symbols));
    return rows;
}

std::string escaped(const std::string &text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            result += '\\';
        if (static_cast<unsigned char>(c) >= ' ')
            result += c;
    }
    return result + '"';
}

void print_trace(std::FILE *to, const SearchResult &result) {
    const char *separator = "";
    for (const ShownRow &row : shown(result)) {
        std::fprintf(to,
                     "%s\n  {\"thread\": %s, \"place\": %s, \"function\": %s, \"access\": %s, "
                     "\"object\": %s, \"bytes\": %u, \"value\": %s, \"buffer\": %s}",
                     separator, row.thread.c_str(), escaped(row.place).c_str(),
                     escaped(row.function).c_str(), escaped(row.access).c_str(),
                     escaped(row.object).c_str(), row.bytes, escaped(row.value).c_str(),
                     escaped(row.buffer).c_str());
        separator = ",";
    }
}

} // namespace

const char *name_of(Model model) {
    static const char *const names[] = {"sc", "tso", "tso-wait", "weak", "weak-si"};
    return names[static_cast<unsigned>(model)];
}

const char *verdict_of(const SearchResult &result) {
    if (result.failure)
        return "failed";
    return result.bound.empty() ? "proved" : "bound";
}

void print_json(std::FILE *to, const SearchOptions &options, const SearchResult &result,
                double seconds) {
    std::fprintf(to,
                 "{\"verdict\": \"%s\", \"model\": \"%s\", \"states\": %" PRIu64
                 ", \"transitions\": %" PRIu64 ", \"executions\": %" PRIu64 ", \"nodes\": %" PRIu64
                 ", \"restarts\": %" PRIu64 ", \"seconds\": %.3f,\n",
                 verdict_of(result), name_of(options.model), result.states, result.transitions,
                 result.executions, result.nodes, result.restarts, seconds);
    std::fprintf(to,
                 " \"bounds\": {\"states\": %" PRIu64 ", \"seconds\": %.0f, \"buffer\": %u, "
                 "\"beyond_client_bound\": %" PRIu64 ", \"random\": %" PRIu64 ", \"seed\": %" PRIu64
                 ", \"reached\": \"%s\", \"buffer_was_full\": %s}",
                 options.most_states, options.most_seconds, options.bounds.buffer, result.beyond,
                 options.random_runs, options.seed, result.bound.c_str(),
                 result.buffer_was_full ? "true" : "false");
    if (result.failure) {
        std::fprintf(to, ",\n \"failure\": {\"kind\": %s, \"what\": %s, \"thread\": %u},\n",
                     escaped(result.failure->kind).c_str(), escaped(result.failure->what).c_str(),
                     result.failure->thread);
        std::fprintf(to, " \"trace\": [");
        print_trace(to, result);
        std::fprintf(to, "]");
    }
    std::fprintf(to, "}\n");
}

void print_text(std::FILE *to, const SearchOptions &options, const SearchResult &result,
                double seconds) {
    std::fprintf(to,
                 "%s under %s: %" PRIu64 " states, %" PRIu64 " transitions, %" PRIu64
                 " executions, %.3f s%s%s\n",
                 verdict_of(result), name_of(options.model), result.states, result.transitions,
                 result.executions, seconds,
                 result.bound.empty() ? "" : ", bound reached: ", result.bound.c_str());
    if (!result.failure)
        return;
    std::fprintf(to, "%s: %s (thread %u)\n", result.failure->kind.c_str(),
                 result.failure->what.c_str(), result.failure->thread);
    for (const ShownRow &row : shown(result))
        std::fprintf(to, "%s  %-24s %-28s %-18s %-24s %-18s %s\n", row.thread.c_str(),
                     row.place.c_str(), row.function.c_str(), row.access.c_str(),
                     row.object.c_str(), row.value.c_str(), row.buffer.c_str());
}

} // namespace prove
