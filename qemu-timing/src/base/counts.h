// What a core counts. The names are those of the report: docs/interfaces.md, section 6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockcross {

using Cycle = uint64_t;

// Each simulated cycle of a core has exactly one cause.
enum class Stall : uint8_t {
    Issue,       // at least one instruction issues
    Fetch,       // fetches the rest of an instruction
    Dependence,  // waits for the result of an earlier instruction
    TakenBranch, // redirects the fetch
    Mispredict,  // refetches after a misprediction
    Hit,         // the L1 access itself, where the core waits for it
    L2,          // fill from the shared L2
    Memory,      // fill from memory
    Transfer,    // line comes from another core's cache
    Upgrade,     // shared copy becomes exclusive, other copies are invalidated
    Hold,        // an earlier conflicting access of another core is in flight
    Forward,     // a load waits for a narrower buffered store to drain
    StoreBuffer, // the store buffer is full
    Drain,       // a fence or an atomic waits for the store buffer
    Fence,       // own latency of a fence
    Atomic,      // own latency of an atomic operation
    Charge,      // an operating-system cost
    Count
};
constexpr std::array<const char *, size_t(Stall::Count)> kStallNames = {
    "issue",        "fetch",  "dependence", "taken_branch", "mispredict", "hit",
    "l2",           "memory", "transfer",   "upgrade",      "hold",       "forward",
    "store_buffer", "drain",  "fence",      "atomic",       "charge"};

// Ordered by the rights that a copy gives.
enum class Mesi : uint8_t { I, S, E, M, Count };
constexpr std::array<const char *, size_t(Mesi::Count)> kMesiNames = {"I", "S", "E", "M"};

// Counted by the state of a line: for the accesses, its state in the accessing core before the
// access; for the rest, the state of the copy that is lost or downgraded.
enum class CoherenceEvent : uint8_t {
    Load,
    Store,
    Atomic,
    Invalidated,
    Downgraded,
    Evicted,
    Count
};
constexpr std::array<const char *, size_t(CoherenceEvent::Count)> kCoherenceEventNames = {
    "load", "store", "atomic", "invalidated", "downgraded", "evicted"};

enum class Fence : uint8_t {
    Mfence,
    Lfence,
    Sfence,
    Hwsync,
    Lwsync,
    Isync,
    Dmb,
    DmbLd,
    DmbSt,
    Dsb,
    Isb,
    Count
};
constexpr std::array<const char *, size_t(Fence::Count)> kFenceNames = {
    "mfence", "lfence", "sfence", "hwsync", "lwsync", "isync",
    "dmb",    "dmb_ld", "dmb_st", "dsb",    "isb"};

// Costs of the operating system: stopping another thread, and so on (docs/interfaces.md, section
// 5).
enum class Charge : uint8_t {
    StopRunning,
    Park,
    Unpark,
    Wake,
    Switch,
    Barrier,
    Yield,
    StopBlocked,
    StopEnded,
    Count
};
constexpr std::array<const char *, size_t(Charge::Count)> kChargeNames = {
    "stop", "park", "unpark", "wake", "switch", "barrier", "yield", "stop_blocked", "stop_ended"};

// How a parked thread sleeps, as far as waking it takes other times (options charge_*).
enum class Sleep : uint8_t { NotYet, Sleeps, ForLong };

template <typename Key> using CountsBy = std::array<uint64_t, size_t(Key::Count)>;

struct Counts {
    uint64_t instructions = 0;
    uint64_t loads = 0, stores = 0; // plain ones: no part of an atomic
    uint64_t cas_won = 0, cas_lost = 0, rmw = 0;
    // Store-conditionals that failed because another core had taken the line.
    uint64_t reservations_lost = 0;
    uint64_t holds = 0;
    CountsBy<Fence> fences{};
    CountsBy<Charge> charges{};
    uint64_t interrupts = 0; // by process-wide barriers of other cores
    CountsBy<Stall> stalls{};
    std::array<CountsBy<Mesi>, size_t(CoherenceEvent::Count)> coherence{};
};

// What a memory system that another process simulates was asked for.
struct MemoryUse {
    uint64_t requests = 0; // accesses that missed the L1, or had no right to write
    uint64_t touches = 0;  // hits that it was told of, to keep its lines in use
    uint64_t turns = 0;    // how often its clock went on
    uint64_t late = 0;     // cycles by which requests began too late, since its clock was ahead
};

} // namespace lockcross
