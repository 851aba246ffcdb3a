#include "client/calls.h"

#include "barrier.h"
#include "client/coroutine.h"
#include "client/running.h"
#include "prove.h"

#include <cstddef>

// The bounds of the program's writable data, by the linker.
extern "C" char __data_start[], _end[];

namespace prove {

namespace {

constexpr uint64_t kLongestRange = 256;

uint64_t pointer(const volatile void *address) { return reinterpret_cast<uint64_t>(address); }

bool on_own_stack(uint64_t address) {
    return address - running.stack_low < running.stack_high - running.stack_low;
}

// Command line, not memory.
bool is_parameter(uint64_t address) { return address == pointer(&prove_parameter); }

bool on_some_stack(uint64_t address) {
    return address - running.all_stacks_low < running.all_stacks_high - running.all_stacks_low;
}

// Set-up and end, the thread's own local variables and constants are plain memory.
bool untracked(uint64_t address) {
    return running.direct || on_own_stack(address) || is_parameter(address) ||
           (address >= 4096 && (address < pointer(__data_start) || address >= pointer(_end)) &&
            !on_some_stack(address));
}

// Not memcpy: a client's calls of that come here themselves.
void copy_bytes(void *to, const void *from, size_t bytes) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

// Where the client goes on behind its call, which came in by prove_enter.
uint64_t return_address() {
    return reinterpret_cast<const uint64_t *>(prove_client_frame)[kSavedRegisters];
}

Operation &begin(Kind kind, uint64_t return_address) {
    flush_store();
    Operation &request = running.request;
    request = {};
    request.kind = kind;
    request.return_address = return_address;
    return request;
}

[[noreturn]] void fail(const char *what, uint64_t return_address) {
    prove_client_frame = 0;
    begin(Kind::kFail, return_address).what = what;
    prove_to_checker();
    __builtin_unreachable();
}

void check_address(uint64_t address, uint64_t bytes, uint64_t return_address) {
    if (address < 4096)
        fail("an access through a null pointer", return_address);
    if (on_some_stack(address))
        fail("an access to another thread's local variable: the checker needs it in a global one",
             return_address);
    if (bytes > kLongestRange)
        fail("a plain access of more than 256 bytes: too long for the checker", return_address);
}

uint64_t ask_plain(Kind kind, uint64_t address, unsigned bytes, uint64_t value,
                   uint64_t return_address) {
    Operation &request = running.request;
    request = {};
    request.kind = kind;
    request.return_address = return_address;
    request.address = address;
    request.size = static_cast<uint8_t>(bytes);
    request.value = value;
    return prove_to_checker();
}

// Bytes from `address` up to the next multiple of 8.
unsigned first_part(uint64_t address, uint64_t bytes) {
    uint64_t room = 8 - address % 8;
    return static_cast<unsigned>(bytes < room ? bytes : room);
}

void read_plain(uint64_t address, uint64_t bytes, void *into, uint64_t return_address) {
    auto *at = static_cast<uint8_t *>(into);
    for (uint64_t done = 0; done < bytes;) {
        unsigned part = first_part(address + done, bytes - done);
        uint64_t value = ask_plain(Kind::kPlainLoad, address + done, part, 0, return_address);
        copy_bytes(at + done, &value, part);
        done += part;
    }
}

void write_plain(uint64_t address, uint64_t bytes, const void *from, uint64_t return_address) {
    const auto *at = static_cast<const uint8_t *>(from);
    for (uint64_t done = 0; done < bytes;) {
        unsigned part = first_part(address + done, bytes - done);
        uint64_t value = 0;
        copy_bytes(&value, at + done, part);
        ask_plain(Kind::kPlainStore, address + done, part, value, return_address);
        done += part;
    }
}

// The client loads from memory after this: what it is to find is put there.
//
// An assignment of a structure announces its store and then its load, before both. So a store that
// was announced is asked for after a load that follows it, unless they overlap: that changes the
// order of two plain accesses, which nobody can tell. Other threads run between, and change memory:
// what the store may have left there is kept.
void announce_read(uint64_t address, uint64_t bytes, uint64_t return_address) {
    if (untracked(address))
        return;
    uint64_t stored = running.stored_address, stored_bytes = running.stored_bytes;
    if (stored < address + bytes && address < stored + stored_bytes)
        flush_store();
    uint64_t stored_return_address = running.stored_return_address;
    stored_bytes = running.stored_bytes;
    uint8_t kept[kLongestRange], found[kLongestRange];
    copy_bytes(kept, reinterpret_cast<const void *>(stored), stored_bytes);
    running.stored_bytes = 0;
    check_address(address, bytes, return_address);
    read_plain(address, bytes, found, return_address);
    copy_bytes(reinterpret_cast<void *>(address), found, bytes);
    copy_bytes(reinterpret_cast<void *>(stored), kept, stored_bytes);
    running.stored_address = stored;
    running.stored_bytes = stored_bytes;
    running.stored_return_address = stored_return_address;
}

// The client stores to memory after this: the value is known at its next call.
void announce_write(uint64_t address, uint64_t bytes, uint64_t return_address) {
    if (untracked(address))
        return;
    flush_store();
    check_address(address, bytes, return_address);
    running.stored_address = address;
    running.stored_bytes = bytes;
    running.stored_return_address = return_address;
}

Operation &begin_atomic(Kind kind, uint64_t address, unsigned bytes, int order,
                        uint64_t return_address) {
    flush_store();
    check_address(address, bytes, return_address);
    if (address % bytes != 0)
        fail("an atomic access that is not aligned to its size", return_address);
    Operation &request = begin(kind, return_address);
    request.address = address;
    request.size = static_cast<uint8_t>(bytes);
    request.order = static_cast<Order>(order & 0x7);
    return request;
}

void fence(int order, uint64_t return_address) {
    if (running.direct)
        return;
    begin(Kind::kFence, return_address).order = static_cast<Order>(order);
    prove_to_checker();
}

// Other threads go on between, and are interrupted in any order.
void process_barrier(uint64_t return_address) {
    if (running.direct)
        return;
    fence(__ATOMIC_SEQ_CST, return_address);
    uint64_t left = (uint64_t{1} << prove_threads) - 1;
    for (unsigned others = prove_threads - 1; others > 0; others--) {
        begin(Kind::kInterrupt, return_address).value = left;
        left &= ~(uint64_t{1} << prove_to_checker());
    }
    fence(__ATOMIC_SEQ_CST, return_address);
}

// A sequentially consistent access: under a weak model a full fence comes before it, and under TSO
// it comes after a store.
void lead(int order, uint64_t return_address) {
    if (running.weak && order == __ATOMIC_SEQ_CST)
        fence(__ATOMIC_SEQ_CST, return_address);
}

template <typename T> T load(const volatile T *p, int order, uint64_t return_address) {
    if (untracked(pointer(p)))
        return *p;
    lead(order, return_address);
    begin_atomic(Kind::kLoad, pointer(p), sizeof *p, order, return_address);
    return static_cast<T>(prove_to_checker());
}

template <typename T> void store(volatile T *p, T value, int order, uint64_t return_address) {
    if (untracked(pointer(p))) {
        *p = value;
        return;
    }
    lead(order, return_address);
    begin_atomic(Kind::kStore, pointer(p), sizeof *p, order, return_address).value = value;
    prove_to_checker();
    if (running.tso && order == __ATOMIC_SEQ_CST)
        fence(__ATOMIC_SEQ_CST, return_address);
}

template <typename T>
T update(volatile T *p, T operand, Update how, int order, uint64_t return_address) {
    if (untracked(pointer(p))) {
        Operation op;
        op.kind = Kind::kRmw;
        op.update = how;
        op.size = sizeof *p;
        op.value = operand;
        T old = *p;
        *p = static_cast<T>(updated(op, old));
        return old;
    }
    lead(order, return_address);
    Operation &request = begin_atomic(Kind::kRmw, pointer(p), sizeof *p, order, return_address);
    request.update = how;
    request.value = operand;
    return static_cast<T>(prove_to_checker());
}

// Returns what it found.
template <typename T>
T compare_exchange(volatile T *p, T expected, T desired, int order, int failure_order,
                   uint64_t return_address) {
    if (untracked(pointer(p))) {
        T old = *p;
        if (old == expected)
            *p = desired;
        return old;
    }
    lead(order, return_address);
    Operation &request = begin_atomic(Kind::kCas, pointer(p), sizeof *p, order, return_address);
    request.failure_order = static_cast<Order>(failure_order & 0x7);
    request.expected = expected;
    request.value = desired;
    return static_cast<T>(prove_to_checker());
}

} // namespace

[[gnu::noinline]] void flush_store() {
    uint64_t bytes = running.stored_bytes, address = running.stored_address;
    if (bytes == 0)
        return;
    running.stored_bytes = 0;
    uint8_t stored[kLongestRange]; // other threads run between two parts, and change memory
    copy_bytes(stored, reinterpret_cast<const void *>(address), bytes);
    write_plain(address, bytes, stored, running.stored_return_address);
}

} // namespace prove

using namespace prove;

// A function that the client calls: its name leads there through prove_enter.
#define CALLED(type, name, ...)                                                                    \
    type entered_##name(__VA_ARGS__);                                                              \
    asm(".text\n"                                                                                  \
        ".globl " #name "\n"                                                                       \
        ".type " #name ", @function\n" #name ":\n"                                                 \
        "leaq entered_" #name "(%rip), %r11\n"                                                     \
        "jmp prove_enter\n");                                                                      \
    type entered_##name(__VA_ARGS__)

// Of those that it calls as they are, since most of these calls ask for nothing.
#define RETURNED_TO reinterpret_cast<uint64_t>(__builtin_return_address(0))

extern "C" {

unsigned prove_parameter = 0;

CALLED(void, prove_wait) {
    if (running.direct)
        return;
    begin(Kind::kWait, return_address());
    prove_to_checker();
}

CALLED(void, prove_process_barrier) { process_barrier(return_address()); }

CALLED(void, prove_beyond_bound) {
    if (running.direct)
        return;
    begin(Kind::kBeyond, return_address());
    prove_to_checker();
}

void prove_assert(bool holds, const char *what) {
    if (!holds)
        fail(what, RETURNED_TO);
}

void lock_fatal(const char *message) { fail(message, RETURNED_TO); }

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}

#define PLAIN_CALLS(bytes)                                                                         \
    CALLED(void, __tsan_read##bytes, void *p) {                                                    \
        announce_read(pointer(p), bytes, return_address());                                        \
    }                                                                                              \
    CALLED(void, __tsan_write##bytes, void *p) {                                                   \
        announce_write(pointer(p), bytes, return_address());                                       \
    }                                                                                              \
    CALLED(void, __tsan_unaligned_read##bytes, void *p) {                                          \
        announce_read(pointer(p), bytes, return_address());                                        \
    }                                                                                              \
    CALLED(void, __tsan_unaligned_write##bytes, void *p) {                                         \
        announce_write(pointer(p), bytes, return_address());                                       \
    }                                                                                              \
    CALLED(void, __tsan_volatile_read##bytes, void *p) {                                           \
        announce_read(pointer(p), bytes, return_address());                                        \
    }                                                                                              \
    CALLED(void, __tsan_volatile_write##bytes, void *p) {                                          \
        announce_write(pointer(p), bytes, return_address());                                       \
    }
PLAIN_CALLS(1)
PLAIN_CALLS(2)
PLAIN_CALLS(4)
PLAIN_CALLS(8)
PLAIN_CALLS(16)

CALLED(void, __tsan_read_range, void *p, unsigned long bytes) {
    announce_read(pointer(p), bytes, return_address());
}
CALLED(void, __tsan_write_range, void *p, unsigned long bytes) {
    announce_write(pointer(p), bytes, return_address());
}

#define UPDATE_CALL(bits, name, how)                                                               \
    CALLED(uint##bits##_t, __tsan_atomic##bits##_##name, volatile uint##bits##_t *p,               \
           uint##bits##_t operand, int order) {                                                    \
        return update(p, operand, Update::how, order, return_address());                           \
    }
#define ATOMIC_CALLS(bits)                                                                         \
    CALLED(uint##bits##_t, __tsan_atomic##bits##_load, const volatile uint##bits##_t *p,           \
           int order) {                                                                            \
        return load(p, order, return_address());                                                   \
    }                                                                                              \
    CALLED(void, __tsan_atomic##bits##_store, volatile uint##bits##_t *p, uint##bits##_t value,    \
           int order) {                                                                            \
        store(p, value, order, return_address());                                                  \
    }                                                                                              \
    UPDATE_CALL(bits, exchange, kSwap)                                                             \
    UPDATE_CALL(bits, fetch_add, kAdd)                                                             \
    UPDATE_CALL(bits, fetch_sub, kSub)                                                             \
    UPDATE_CALL(bits, fetch_and, kAnd)                                                             \
    UPDATE_CALL(bits, fetch_or, kOr)                                                               \
    UPDATE_CALL(bits, fetch_xor, kXor)                                                             \
    UPDATE_CALL(bits, fetch_nand, kNand)                                                           \
    CALLED(int, __tsan_atomic##bits##_compare_exchange_strong, volatile uint##bits##_t *p,         \
           uint##bits##_t *expected, uint##bits##_t desired, int order, int failure_order) {       \
        uint##bits##_t old =                                                                       \
            compare_exchange(p, *expected, desired, order, failure_order, return_address());       \
        bool done = old == *expected;                                                              \
        if (!done)                                                                                 \
            *expected = old;                                                                       \
        return done;                                                                               \
    }                                                                                              \
    CALLED(int, __tsan_atomic##bits##_compare_exchange_weak, volatile uint##bits##_t *p,           \
           uint##bits##_t *expected, uint##bits##_t desired, int order, int failure_order) {       \
        return entered___tsan_atomic##bits##_compare_exchange_strong(p, expected, desired, order,  \
                                                                     failure_order);               \
    }                                                                                              \
    CALLED(uint##bits##_t, __tsan_atomic##bits##_compare_exchange_val, volatile uint##bits##_t *p, \
           uint##bits##_t expected, uint##bits##_t desired, int order, int failure_order) {        \
        return compare_exchange(p, expected, desired, order, failure_order, return_address());     \
    }
ATOMIC_CALLS(8)
ATOMIC_CALLS(16)
ATOMIC_CALLS(32)
ATOMIC_CALLS(64)

CALLED(void, __tsan_atomic_thread_fence, int order) { fence(order, return_address()); }
void __tsan_atomic_signal_fence(int) {}

// The compiler makes calls of these from assignments of structures (linked with --wrap).
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int byte, size_t bytes);

static void copy(void *to, const void *from, size_t bytes, uint64_t return_address) {
    prove_client_frame = 0;
    uint8_t copied[kLongestRange];
    if (bytes > sizeof copied)
        fail("a copy of more than 256 bytes: too long for the checker", return_address);
    flush_store();
    if (untracked(pointer(from)))
        copy_bytes(copied, from, bytes);
    else
        read_plain(pointer(from), bytes, copied, return_address);
    if (untracked(pointer(to)))
        copy_bytes(to, copied, bytes);
    else
        write_plain(pointer(to), bytes, copied, return_address);
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
    if (!running.client || running.direct)
        return __real_memcpy(to, from, bytes);
    copy(to, from, bytes, RETURNED_TO);
    return to;
}

void *__wrap_memmove(void *to, const void *from, size_t bytes) {
    if (!running.client || running.direct)
        return __real_memmove(to, from, bytes);
    copy(to, from, bytes, RETURNED_TO);
    return to;
}

void *__wrap_memset(void *to, int byte, size_t bytes) {
    if (!running.client || running.direct || untracked(pointer(to)))
        return __real_memset(to, byte, bytes);
    prove_client_frame = 0;
    uint8_t filled[kLongestRange];
    if (bytes > sizeof filled)
        fail("a memset of more than 256 bytes: too long for the checker", RETURNED_TO);
    flush_store();
    __real_memset(filled, byte, bytes);
    write_plain(pointer(to), bytes, filled, RETURNED_TO);
    return to;
}
}
