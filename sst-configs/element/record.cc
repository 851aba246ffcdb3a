#include "record.h"

#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

namespace lockcross {
namespace {

std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (const char one : text) {
        if (one == '"' || one == '\\')
            result += '\\';
        result += static_cast<unsigned char>(one) < ' ' ? ' ' : one;
    }
    return result + '"';
}

std::string as_json(const Record &record) {
    std::ostringstream out;
    out << "{\"complete\": " << (record.cause.empty() ? "true" : "false");
    if (!record.cause.empty())
        out << ", \"cause\": " << quoted(record.cause);
    out << ", \"sst_version\": " << quoted(record.sst_version) << ", \"cycles\": " << record.cycles;
    if (record.guest_ended)
        out << ", \"guest_exit\": " << record.guest_exit;
    out << ", \"requests\": " << record.requests << ", \"turns\": " << record.turns << "}\n";
    return out.str();
}

// Libraries' objects are destroyed when the process exits.
struct AtExit {
    std::optional<Record> record;
    std::string path;

    ~AtExit() {
        if (record)
            write_record(*record, path);
    }
} at_exit;

} // namespace

void write_record(const Record &record, const std::string &path) {
    const std::string temporary = path + ".new";
    std::ofstream file(temporary);
    file << as_json(record);
    file.close();
    if (file)
        std::rename(temporary.c_str(), path.c_str());
}

void write_record_at_exit(const Record &record, const std::string &path) {
    at_exit.record = record;
    at_exit.path = path;
}

} // namespace lockcross
