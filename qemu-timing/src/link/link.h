// The region of memory that the plugin shares with a simulator of memory systems in another
// process. The two take turns: whose turn it is writes its side, passes the turn and sleeps. So
// neither needs a lock, and the order of everything is the same in every run.
//
// Clock: cycles of the simulated cores, the same on both sides.
// Plugin's turn: it writes requests, none earlier than `now`, and how far time may go.
// Simulator's turn: it lets time pass until the first cycle in which a request is done, or until
// `until`, whichever comes first, and writes what is done by then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockcross {

constexpr uint64_t kLinkMagic = 0x4b4e494c58434f4c; // "LOCXLINK"
constexpr uint32_t kLinkVersion = 1;
constexpr uint32_t kMostRequests = 4096; // of one turn
constexpr uint64_t kNoLimit = UINT64_MAX;

enum class Turn : uint32_t { Plugin, Simulator };
// How each side stands. Done: it has ended well. Failed: `failure` says why.
enum class LinkState : uint32_t { Running, Done, Failed };

enum class RequestKind : uint32_t {
    Read,
    Write, // with the right to write: stores and atomics, one for each
    // Of these, which hit the L1, nobody waits for the end.
    Touch,      // a read that keeps its line in use
    TouchWrite, // the first write of a line of which the core has the only copy
};

struct LinkRequest {
    uint64_t cycle; // when the core makes it
    uint64_t id;    // of its answer; touches have none
    uint64_t line;  // number of the line, from 0
    uint32_t core;
    RequestKind kind;
};

// Nobody waits for its end.
inline bool is_touch(const LinkRequest &request) {
    return request.kind == RequestKind::Touch || request.kind == RequestKind::TouchWrite;
}

inline bool writes(const LinkRequest &request) {
    return request.kind == RequestKind::Write || request.kind == RequestKind::TouchWrite;
}

struct LinkAnswer {
    uint64_t id;
    uint64_t cycle; // when the core has the line
};

struct Link {
    // Written once, by the simulator, before the plugin starts.
    uint64_t magic;
    uint32_t version;
    uint32_t cores;      // that the simulator has
    uint32_t line_bytes; // of its caches
    uint32_t lat_l1;     // cycles of its L1, which an answer includes
    uint32_t lat_miss;   // cycles that an answer takes at least if the line is not in the L1

    alignas(64) std::atomic<Turn> turn; // futex word
    std::atomic<LinkState> plugin, simulator;
    char failure[512]; // of the side that failed; ends in 0

    alignas(64) uint64_t until; // cycle, or kNoLimit: until a request is done
    uint32_t requests;
    uint32_t answers;
    uint64_t now; // the simulator's cycle
    LinkRequest request[kMostRequests];
    LinkAnswer answer[kMostRequests];
};

} // namespace lockcross
