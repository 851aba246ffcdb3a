// What a thread of a client asks for: one access to memory, a fence, or the end.
#pragma once

#include <cstdint>

namespace prove {

inline constexpr unsigned kMaxThreads = 8;

enum class Kind : uint8_t {
    kPlainLoad,
    kPlainStore,
    kLoad,
    kStore,
    kRmw, // always writes
    kCas, // writes if it finds `expected`
    kFence,
    kInterrupt, // another thread, of those that `value` has a bit for, executes a full fence
    kWait,
    kBeyond, // longer than the client wants
    kEnd,
    kFail,
};

enum class Update : uint8_t { kSwap, kAdd, kSub, kAnd, kOr, kXor, kNand };

// As the compiler numbers them.
enum class Order : uint8_t { kRelaxed, kConsume, kAcquire, kRelease, kAcqRel, kSeqCst };

inline bool acquires(Order order) {
    return order == Order::kConsume || order == Order::kAcquire || order >= Order::kAcqRel;
}
inline bool releases(Order order) { return order >= Order::kRelease; }

struct Operation {
    Kind kind = Kind::kEnd;
    Update update = Update::kSwap;
    Order order = Order::kRelaxed;
    Order failure_order = Order::kRelaxed; // of a CAS that finds another value
    uint8_t size = 0; // bytes; 1, 2, 4 or 8, fewer for a part of a plain access
    uint64_t address = 0;
    uint64_t value = 0;          // stored, the operand of an update, or desired
    uint64_t expected = 0;       // of a CAS
    uint64_t return_address = 0; // where in the program
    const char *what = nullptr;  // why it fails

    bool is_plain() const { return kind == Kind::kPlainLoad || kind == Kind::kPlainStore; }
    bool is_atomic() const { return kind >= Kind::kLoad && kind <= Kind::kCas; }
    bool reads() const { return kind == Kind::kPlainLoad || kind == Kind::kLoad || is_update(); }
    bool writes() const { return kind == Kind::kPlainStore || kind == Kind::kStore || is_update(); }
    bool is_update() const { return kind == Kind::kRmw || kind == Kind::kCas; }
};

inline uint64_t low_bytes(uint64_t value, unsigned bytes) {
    return bytes >= 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}

// What an update that finds `old` leaves behind; of a CAS that fails, `old`.
inline uint64_t updated(const Operation &op, uint64_t old) {
    if (op.kind == Kind::kCas)
        return old == op.expected ? op.value : old;
    uint64_t result = op.value;
    switch (op.update) {
    case Update::kSwap:
        break;
    case Update::kAdd:
        result = old + op.value;
        break;
    case Update::kSub:
        result = old - op.value;
        break;
    case Update::kAnd:
        result = old & op.value;
        break;
    case Update::kOr:
        result = old | op.value;
        break;
    case Update::kXor:
        result = old ^ op.value;
        break;
    case Update::kNand:
        result = ~(old & op.value);
        break;
    }
    return low_bytes(result, op.size);
}

} // namespace prove
