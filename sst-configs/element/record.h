// What came of a run, for the engine adapter: a file that is there only if it is whole.
#pragma once

#include <cstdint>
#include <string>

namespace lockcross {

struct Record {
    std::string cause; // why the run failed; empty: it ended well
    std::string sst_version;
    uint64_t cycles = 0, requests = 0, turns = 0;
    bool guest_ended = false;
    int guest_exit = 0; // its exit code, or minus the signal that killed it
};

// Writes it, or nothing where that is not possible.
void write_record(const Record &record, const std::string &path);

// Writes it when the process exits, after all that SST itself writes.
void write_record_at_exit(const Record &record, const std::string &path);

} // namespace lockcross
