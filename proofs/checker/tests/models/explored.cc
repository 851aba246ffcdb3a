#include "explored.h"

#include "client/native.h"
#include "client/running.h"
#include "prove.h"

#include <algorithm>

using namespace prove;

// What the compiler calls for the accesses of a client (client/calls.cc).
extern "C" {
void __tsan_read4(void *);
void __tsan_write4(void *);
void __tsan_write8(void *);
uint16_t __tsan_atomic16_load(const volatile uint16_t *, int);
uint32_t __tsan_atomic32_load(const volatile uint32_t *, int);
void __tsan_atomic16_store(volatile uint16_t *, uint16_t, int);
void __tsan_atomic32_store(volatile uint32_t *, uint32_t, int);
uint16_t __tsan_atomic16_fetch_add(volatile uint16_t *, uint16_t, int);
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t *, uint32_t, int);
uint16_t __tsan_atomic16_compare_exchange_val(volatile uint16_t *, uint16_t, uint16_t, int, int);
uint32_t __tsan_atomic32_compare_exchange_val(volatile uint32_t *, uint32_t, uint32_t, int, int);
void __tsan_atomic_thread_fence(int);
}

namespace {

uint32_t locations[2];
volatile uint64_t loaded[kMaxThreads];
const Threads *client;

uint32_t execute(const Instruction &instruction) {
    uint32_t *at = &locations[instruction.location];
    auto *half = reinterpret_cast<uint16_t *>(at) + instruction.offset / 2;
    const auto value = instruction.value;
    const auto low = static_cast<uint16_t>(value);
    const int order = static_cast<int>(instruction.order);
    const bool is_half = instruction.size == 2;
    switch (instruction.kind) {
    case Kind::kLoad:
        return is_half ? __tsan_atomic16_load(half, order) : __tsan_atomic32_load(at, order);
    case Kind::kStore:
        is_half ? __tsan_atomic16_store(half, low, order) : __tsan_atomic32_store(at, value, order);
        return 0;
    case Kind::kRmw:
        return is_half ? __tsan_atomic16_fetch_add(half, low, order)
                       : __tsan_atomic32_fetch_add(at, value, order);
    case Kind::kCas: // of a word that holds 0
        return is_half ? __tsan_atomic16_compare_exchange_val(half, 0, low, order, 0)
                       : __tsan_atomic32_compare_exchange_val(at, 0, value, order, 0);
    case Kind::kFence:
        __tsan_atomic_thread_fence(order);
        return 0;
    case Kind::kPlainLoad:
        __tsan_read4(at);
        return *const_cast<volatile uint32_t *>(at);
    case Kind::kPlainStore:
        __tsan_write4(at);
        *const_cast<volatile uint32_t *>(at) = value;
        return 0;
    default:
        return 0;
    }
}

Native &native() {
    static Native native;
    static const std::string failed = native.set_up();
    return native;
}

} // namespace

void prove_thread(unsigned index) {
    uint64_t all = 1;
    for (const Instruction &instruction : (*client)[index])
        all = all * 0x10003 + execute(instruction);
    __tsan_write8(const_cast<uint64_t *>(&loaded[index]));
    loaded[index] = all;
}

Explored::Explored(const Threads &threads, Model model)
    : program_(native()),
      machine_(make_machine(model, program_, static_cast<unsigned>(threads.size()), {})) {
    client = &threads;
    running.direct = false;
    running.weak = true;
    do {
        program_.settle_layout();
    } while (!explore());
    running.direct = true;
    pass_outcomes_back();
}

bool Explored::explore() {
    numbers_.clear();
    words_.clear();
    followers_.clear();
    outcomes_.clear();
    machine_->begin();
    if (program_.layout_changed())
        return false;
    if (machine_->failure()) // before any thread has a choice
        return true;
    number_of_current();
    std::vector<Choice> choices;
    for (size_t state = 0; state < words_.size(); state++) {
        const Words words = words_[state]; // more are added meanwhile
        machine_->load(words.data(), words.size());
        if (machine_->ended()) {
            // The values of the last messages and of cells are what a class is made of.
            outcomes_[state].insert(std::to_string(machine_->subsumption_class(words).low));
            continue;
        }
        machine_->choices(choices);
        for (Choice choice : choices) {
            machine_->load(words.data(), words.size());
            machine_->take(choice);
            if (program_.layout_changed())
                return false;
            if (const Failure *failure = machine_->failure()) {
                outcomes_[state].insert(failure->kind + ": " + failure->what + " in thread " +
                                        std::to_string(failure->thread));
                continue;
            }
            const size_t follower = number_of_current(); // may move followers_
            followers_[state].push_back(follower);
        }
    }
    return true;
}

std::vector<size_t> Explored::reachable(size_t from) const {
    std::vector<bool> known(states());
    std::vector<size_t> found;
    const auto come_to = [&](const std::vector<size_t> &next) {
        for (size_t state : next) {
            if (!known[state])
                found.push_back(state);
            known[state] = true;
        }
    };
    come_to(followers_[from]);
    for (size_t i = 0; i < found.size(); i++)
        come_to(followers_[found[i]]);
    return found;
}

size_t Explored::number_of_current() {
    Words words;
    machine_->save(words);
    auto [known, is_new] = numbers_.try_emplace(words, words_.size());
    if (is_new) {
        words_.push_back(words);
        followers_.emplace_back();
        outcomes_.emplace_back();
    }
    return known->second;
}

void Explored::pass_outcomes_back() {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t state = states(); state-- > 0;) {
            const size_t before = outcomes_[state].size();
            for (size_t follower : followers_[state])
                outcomes_[state].insert(outcomes_[follower].begin(), outcomes_[follower].end());
            changed |= outcomes_[state].size() != before;
        }
    }
}
