#include "client/native.h"

#include "client/calls.h"
#include "client/coroutine.h"
#include "client/random.h"
#include "client/running.h"
#include "prove.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

// The bounds of the program's writable data, by the linker.
extern "C" char __data_start[], _end[];

namespace prove {

Running running;

namespace {

constexpr uint64_t kStackBytes = 64 * 1024, kGuardBytes = 4096, kClearedBytes = 4096;
constexpr unsigned kLooking = kMaxThreads; // the stack of prove_setup, prove_end, prove_invariant

void (*looked_at)();

uint64_t stack_top(unsigned index) {
    return running.all_stacks_low + (index + 1) * (kStackBytes + kGuardBytes);
}

void make_stacks() {
    uint64_t bytes = (kLooking + 1) * (kStackBytes + kGuardBytes);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::fputs("prover: no memory for the threads' stacks\n", stderr);
        std::exit(1);
    }
    running.all_stacks_low = reinterpret_cast<uint64_t>(memory);
    running.all_stacks_high = running.all_stacks_low + bytes;
    for (unsigned i = 0; i <= kLooking; i++) // below each, so that one that overflows is found
        mprotect(reinterpret_cast<void *>(stack_top(i) - kStackBytes - kGuardBytes), kGuardBytes,
                 PROT_NONE);
}

void lay_out_new_stack(unsigned index) {
    auto *top = reinterpret_cast<uint64_t *>(stack_top(index));
    top[-1] = top[-2] = 0; // prove_begin_stack's own frame, aligned to 16 bytes
    top[-3] = reinterpret_cast<uint64_t>(&prove_begin_stack);
    uint64_t *saved = top - 3 - kSavedRegisters;
    std::memset(saved, 0, kSavedRegisters * sizeof *saved);
    saved[kSavedR12] = index;
    prove_client_stack = reinterpret_cast<uint64_t>(saved);
}

[[noreturn]] void stop_with(Kind kind, const char *what) {
    running.stored_bytes = 0;
    prove_client_frame = 0;
    running.request = {};
    running.request.kind = kind;
    running.request.what = what;
    prove_to_checker();
    __builtin_unreachable();
}

[[noreturn]] void after_fault() {
    stop_with(Kind::kFail, "an access to memory that does not exist (a wild or null pointer)");
}

[[noreturn]] void after_too_long() {
    stop_with(Kind::kFail, "a loop without end that accesses no shared memory");
}

// Times that the client's code has run, and what that was at the last tick of the clock.
volatile uint64_t runs, runs_at_tick;

// The client touched what is not there, or comes to no call: that is a failure of the client, with
// a trace.
void on_signal(int signal, siginfo_t *, void *context) {
    bool is_tick = signal == SIGVTALRM;
    if (!running.client && !is_tick) {
        std::signal(signal, SIG_DFL);
        return;
    }
    bool is_stuck = running.client && runs == runs_at_tick;
    runs_at_tick = runs;
    if (is_tick && !is_stuck)
        return;
    auto *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    running.request.return_address = static_cast<uint64_t>(registers[REG_RIP]) + 1;
    bool on_stack = static_cast<uint64_t>(registers[REG_RSP]) - running.stack_low > 1024;
    uint64_t stack = on_stack ? static_cast<uint64_t>(registers[REG_RSP]) : running.stack_high;
    registers[REG_RSP] = static_cast<greg_t>(((stack - 256) & ~uint64_t{15}) - 8);
    registers[REG_RIP] =
        static_cast<greg_t>(reinterpret_cast<uint64_t>(is_tick ? &after_too_long : &after_fault));
}

void catch_signals() {
    static uint8_t handler_stack[64 * 1024];
    stack_t stack = {};
    stack.ss_sp = handler_stack;
    stack.ss_size = sizeof handler_stack;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM})
        sigaction(signal, &action, nullptr);
    struct itimerval quarter = {{0, 250'000}, {0, 250'000}}; // of a second
    setitimer(ITIMER_VIRTUAL, &quarter, nullptr);
}

} // namespace

std::string Native::set_up() {
    make_stacks();
    catch_signals();
    const char *failed = look(prove_setup);
    auto *from = reinterpret_cast<uint8_t *>(__data_start);
    image_.assign(from, reinterpret_cast<uint8_t *>(_end));
    return failed ? failed : "";
}

uint64_t Native::initial(uint64_t address, unsigned bytes) const {
    uint64_t at = address - reinterpret_cast<uint64_t>(__data_start), value = 0;
    if (at + bytes <= image_.size())
        std::memcpy(&value, image_.data() + at, bytes);
    return value;
}

void Native::run(unsigned index, uint64_t answer, Stopped &stopped) {
    running.stack_high = stack_top(index);
    running.stack_low = running.stack_high - kStackBytes;
    running.stored_bytes = 0;
    // What lies below is dead; cleared, it cannot make two equal states look different.
    std::memset(reinterpret_cast<void *>(prove_client_stack - kClearedBytes), 0, kClearedBytes);
    runs = runs + 1;
    running.client = true;
    prove_to_client(answer);
    running.client = false;
    stopped.op = running.request;
    stopped.stack_pointer = prove_client_stack;
    const auto *from = reinterpret_cast<const uint8_t *>(prove_client_stack);
    stopped.stack.assign(from, reinterpret_cast<const uint8_t *>(running.stack_high));
    stopped.frame = prove_client_frame;
    frames_.overwrite_dead(stopped.stack.data(), stopped.stack_pointer, running.stack_high,
                           stopped.frame, [] { return 0; });
}

void Native::start(unsigned thread, Stopped &stopped) {
    lay_out_new_stack(thread);
    prove_client_frame = 0;
    run(thread, 0, stopped);
}

void Native::resume(unsigned thread, uint64_t stack_pointer, uint64_t frame, const uint8_t *stack,
                    size_t bytes, uint64_t answer, Stopped &stopped) {
    prove_client_stack = stack_pointer;
    prove_client_frame = frame;
    std::memcpy(reinterpret_cast<void *>(stack_pointer), stack, bytes);
    if (junk_)
        frames_.overwrite_dead(reinterpret_cast<uint8_t *>(stack_pointer), stack_pointer,
                               stack_top(thread), frame,
                               [this] { return static_cast<uint8_t>(next_random(junk_) >> 32); });
    run(thread, answer, stopped);
}

const char *Native::look(void (*function)()) {
    bool was_direct = running.direct;
    running.direct = true;
    looked_at = function;
    lay_out_new_stack(kLooking);
    prove_client_frame = 0;
    Stopped stopped;
    run(kLooking, 0, stopped);
    running.direct = was_direct;
    return stopped.op.kind == Kind::kFail ? stopped.op.what : nullptr;
}

void Native::poke(uint64_t address, uint64_t value, unsigned bytes) {
    std::memcpy(reinterpret_cast<void *>(address), &value, bytes);
}

} // namespace prove

void prove_begin(uint64_t index) {
    using namespace prove;
    if (index == kLooking)
        looked_at();
    else
        prove_thread(static_cast<unsigned>(index));
}

void prove_finish() {
    prove::flush_store();
    prove::stop_with(prove::Kind::kEnd, nullptr);
}
