// Subsumption: a mistake in WeakMemory::covers() leaves out states, and a proof of what is left
// shows nothing.
#include "models/weak_memory.h"

#include "client/random.h"
#include "explored.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <functional>
#include <utility>

using namespace prove;

namespace {

using Words = std::vector<uint64_t>;
using Change = std::function<void(WeakMemory &)>;

constexpr uint64_t kFirstEvent = 1;

// The memory of two threads that access the halves of one word, another word, and that word
// plainly.
class TwoThreads {
  public:
    TwoThreads() : explored_(kThreads, Model::kWeakSi), memory_(explored_.program(), 2, true) {}

    // The saved state after these changes; the memory is as before.
    Words after(const Change &change) {
        memory_.begin();
        put(1, divided(), UnitSet::first(2), 0x10001);
        put(2, whole(), UnitSet::first(1), 5);
        for (unsigned t = 0; t < 2; t++) // neither has seen what was put
            for (ViewOf which : {kCur, kAcq, kRel})
                memory_.view(t, which) = unseen();
        change(memory_);
        Words words;
        memory_.save(words);
        return words;
    }
    Words unchanged() {
        return after([](WeakMemory &) {});
    }
    bool covers(const Words &more, const Words &less) const {
        return memory_.covers(more.data(), less.data());
    }

    History &divided() { return find(true); }
    History &whole() { return find(false); }
    // A view that has seen the oldest messages, and knows all events.
    View unseen() const {
        View view = memory_.nothing();
        view.words[kFirstEvent] = ~uint64_t{0};
        return view;
    }

  private:
    static inline const Threads kThreads = {
        {{.kind = Kind::kStore, .size = 2},
         {.kind = Kind::kStore, .location = 1},
         {.kind = Kind::kPlainStore, .location = 1}},
        {{.kind = Kind::kLoad}, {.kind = Kind::kStore, .location = 1}},
    };

    History &find(bool is_divided) {
        History &first = memory_.history(0);
        return first.is_divided() == is_divided ? first : memory_.history(1);
    }
    // By thread 0.
    void put(unsigned timestamp, History &history, UnitSet units, uint64_t value) {
        Message message;
        message.value = value;
        message.units = units;
        message.view = unseen();
        std::vector<View> also;
        memory_.insert(0, history, timestamp > history.messages.size() ? 1 : timestamp, message,
                       also);
    }

    Explored explored_;
    WeakMemory memory_;
};

// `changed` has seen or knows more than `state`: it is covered, and does not cover.
void check_is_covered(const TwoThreads &two, const Words &state, const Words &changed) {
    CHECK(changed != state);
    CHECK(two.covers(state, changed));
    CHECK_FALSE(two.covers(changed, state));
}

void check_are_apart(const TwoThreads &two, const Words &state, const Words &changed) {
    CHECK(changed != state);
    CHECK_FALSE(two.covers(state, changed));
    CHECK_FALSE(two.covers(changed, state));
}

} // namespace

TEST_CASE("a state covers itself") {
    TwoThreads two;
    CHECK(two.covers(two.unchanged(), two.unchanged()));
}

TEST_CASE("a view that has seen a message is covered by one that has not") {
    TwoThreads two;
    const Words state = two.unchanged();
    for (unsigned thread = 0; thread < 2; thread++) {
        for (ViewOf which : {kCur, kAcq, kRel}) {
            for (History *history : {&two.whole(), &two.divided()}) {
                const unsigned slot = history->first_slot;
                check_is_covered(two, state, two.after([=](WeakMemory &memory) {
                    memory.view(thread, which).see(slot, 1);
                }));
            }
        }
    }
    for (unsigned h = 0; h < 2; h++) {
        for (unsigned timestamp = 0; timestamp < 2; timestamp++) {
            check_is_covered(two, state, two.after([&](WeakMemory &memory) {
                memory.history(h).messages[timestamp].view.see(two.whole().first_slot, 1);
            }));
        }
    }
    // Of all full fences so far, and nothing else.
    check_is_covered(two, state, two.after([&](WeakMemory &memory) {
        const View cur = memory.view(1, kCur);
        memory.view(1, kAcq).see(two.whole().first_slot, 1);
        memory.full_fence(1);
        for (ViewOf which : {kCur, kAcq, kRel})
            memory.view(1, which) = cur;
    }));
}

TEST_CASE("a state whose threads do not know of an event covers one whose threads do") {
    TwoThreads two;
    const Words state = two.unchanged();
    const auto forget = [](View &view) { view.words[kFirstEvent] &= ~uint64_t{1}; };
    for (unsigned thread = 0; thread < 2; thread++) {
        for (ViewOf which : {kCur, kAcq, kRel})
            check_is_covered(
                two, two.after([=](WeakMemory &memory) { forget(memory.view(thread, which)); }),
                state);
    }
    for (unsigned h = 0; h < 2; h++)
        check_is_covered(
            two, two.after([=](WeakMemory &memory) { forget(memory.history(h).messages[1].view); }),
            state);
}

TEST_CASE("older messages may be readable in the covering state alone") {
    TwoThreads two;
    const Words longer = two.unchanged();
    const Words shorter = two.after([&](WeakMemory &memory) {
        History &history = two.whole();
        history.messages.erase(history.messages.begin());
        history.messages[0].adjacent = history.units; // to what nobody can read
        (void)memory;
    });
    check_is_covered(two, longer, shorter);
    const Words seen =
        two.after([&](WeakMemory &memory) { memory.view(1, kCur).see(two.whole().first_slot, 1); });
    CHECK(two.covers(seen, shorter)); // the same message, by another timestamp
    CHECK_FALSE(two.covers(shorter, seen));
    const Words newest_removed = two.after([&](WeakMemory &) { two.whole().messages.pop_back(); });
    check_are_apart(two, longer, newest_removed);
}

TEST_CASE("all that is no view has to be the same") {
    TwoThreads two;
    const Words state = two.unchanged();
    const Change changes[] = {
        [](WeakMemory &memory) { memory.cell(0)++; },
        [&](WeakMemory &) { two.whole().messages[1].value++; },
        [&](WeakMemory &) { two.whole().messages[0].value++; },
        [&](WeakMemory &) { two.divided().messages[1].value++; },
        [&](WeakMemory &) { two.divided().messages[0].value++; },
        [&](WeakMemory &) { two.whole().messages[1].adjacent = UnitSet::only(0); },
        [&](WeakMemory &) { two.divided().messages[1].adjacent = UnitSet::only(1); },
        [&](WeakMemory &) { two.divided().messages[1].units = UnitSet::only(0); },
        [&](WeakMemory &) { two.divided().messages[1].writer = 2; },
    };
    for (const Change &change : changes)
        check_are_apart(two, state, two.after(change));
}

TEST_CASE("in front of the first message nobody asks what is adjacent") {
    TwoThreads two;
    const Words adjacent =
        two.after([&](WeakMemory &) { two.whole().messages[0].adjacent = UnitSet::only(0); });
    CHECK(two.covers(two.unchanged(), adjacent));
    CHECK(two.covers(adjacent, two.unchanged()));
}

TEST_CASE("a thread's own message in its buffer is read by that thread alone") {
    TwoThreads two;
    const Words buffered = two.unchanged();
    // All views have seen as much or more.
    const Words drained = two.after([&](WeakMemory &memory) { memory.full_fence(0); });
    CHECK_FALSE(two.covers(buffered, drained));
}

namespace {

// Atomic accesses of both locations; `plain`: of the first, and plain ones of the second.
Instruction random_instruction(uint64_t &random, bool sizes, bool plain) {
    using enum Kind;
    const auto choose = [&](unsigned count) {
        return static_cast<unsigned>(next_random(random) % count);
    };
    const Kind kinds[] = {kStore, kStore, kStore, kLoad, kLoad, kLoad, kRmw, kCas, kFence, kFence};
    Instruction result;
    result.location = choose(2);
    result.value = 1 + choose(2);
    result.kind = kinds[choose(10)];
    if (plain && result.location == 1) {
        result.kind = choose(2) ? kPlainLoad : kPlainStore;
        return result;
    }
    if (sizes && result.kind != kFence && choose(2)) {
        result.size = 2;
        result.offset = 2 * choose(2);
    }
    switch (result.kind) {
    case kLoad:
        result.order = choose(2) ? Order::kAcquire : Order::kRelaxed;
        break;
    case kStore:
        result.order = choose(2) ? Order::kRelease : Order::kRelaxed;
        break;
    case kFence:
        result.order = Order(static_cast<unsigned>(Order::kAcquire) + choose(4));
        break;
    default:
        result.order = choose(2) ? Order::kAcqRel : Order::kRelaxed;
    }
    return result;
}

Threads random_threads(uint64_t &random, bool sizes, bool plain) {
    Threads threads(2 + next_random(random) % 2);
    for (auto &thread : threads) {
        for (size_t count = 5 - threads.size() + next_random(random) % 2; count > 0; count--)
            thread.push_back(random_instruction(random, sizes, plain));
    }
    return threads;
}

bool is_race(const std::string &outcome) { return outcome.starts_with("race"); }

// Whatever can become of a covered state can become of the one that covers it, unless this one
// knows so much less that it races. Returns how many pairs there are, and how many of them differ
// in what can become of them.
std::pair<size_t, size_t> check_covered_states(const Threads &threads, Model model) {
    const Explored explored(threads, model);
    const auto covers = [&](size_t more, size_t less) {
        return explored.machine().covers(explored.words(more), explored.words(less));
    };
    size_t pairs = 0, differing = 0;
    for (size_t more = 0; more < explored.states(); more++) {
        for (size_t less = 0; less < explored.states(); less++) {
            if (more == less || !covers(more, less))
                continue;
            pairs++;
            differing += explored.outcomes(more) != explored.outcomes(less);
            if (std::ranges::any_of(explored.outcomes(more), is_race))
                continue;
            CHECK(std::ranges::includes(explored.outcomes(more), explored.outcomes(less)));
            if (model == Model::kWeakSi)
                continue;
            // Step by step, too. A store that has one timestamp to take in the covered state is no
            // step there, and may be one in the covering state. Not under weak-si, where a message
            // between others may be left in the covering state alone: covers() misses that.
            const std::vector<size_t> reachable = explored.reachable(more);
            for (size_t next : explored.followers(less))
                CHECK(std::ranges::any_of(reachable,
                                          [&](size_t state) { return covers(state, next); }));
        }
    }
    return {pairs, differing};
}

} // namespace

TEST_CASE("states of random programs cover what can become less") {
    uint64_t random = 1;
    size_t pairs = 0, differing = 0;
    for (unsigned number = 0; number < 1500; number++) {
        const bool sizes = number % 2;
        const auto [more_pairs, more_differing] = check_covered_states(
            random_threads(random, sizes, number % 4 < 1), sizes ? Model::kWeakSi : Model::kWeak);
        pairs += more_pairs;
        differing += more_differing;
    }
    CHECK(pairs > 2000);
    CHECK(differing > 200);
}

TEST_CASE("who has read the same from another message may know less, and race") {
    for (const bool released_first : {true, false}) {
        const auto order = [](bool releases) {
            return releases ? Order::kRelease : Order::kRelaxed;
        };
        const Threads threads = {
            {{.kind = Kind::kPlainStore, .location = 1, .value = 1},
             {.kind = Kind::kStore, .order = order(released_first), .value = 1},
             {.kind = Kind::kStore, .order = order(!released_first), .value = 1}},
            {{.kind = Kind::kLoad, .order = Order::kAcquire},
             {.kind = Kind::kLoad},
             {.kind = Kind::kPlainLoad, .location = 1}},
        };
        // Who has read the younger message has seen more: that state is covered, if it knows as
        // much.
        const size_t pairs = check_covered_states(threads, Model::kWeak).first;
        CHECK((pairs > 0) == !released_first);
        const Explored explored(threads, Model::kWeak);
        CHECK(std::ranges::any_of(explored.outcomes(0), is_race));
        CHECK_FALSE(std::ranges::all_of(explored.outcomes(0), is_race));
    }
}
