#include "models/weak_memory.h"

#include "models/machine.h"

namespace prove {

namespace {

constexpr size_t kMostMessages = 250; // of a history: timestamps are bytes

} // namespace

// Layout

void WeakMemory::begin() {
    const Layout &layout = program_.layout();
    cells_.resize(layout.words());
    for (size_t i = 0; i < cells_.size(); i++)
        cells_[i] = program_.native().initial(layout.word_address(i), 8);
    make_locations();
    timestamp_words_ = (slots_ + 7) / 8;
    view_words_ = timestamp_words_ + (events_ + 63) / 64;
    if (view_words_ > View::kMostWords)
        throw TooLarge{"places of a view"};
    make_first_messages();
}

View WeakMemory::nothing() const {
    View view;
    std::fill_n(view.words.begin(), view_words_, 0);
    return view;
}

// A unit is in a history if threads share it and some access of it is atomic, or, in a history of
// several, if that holds of a unit that an access joins with it.
void WeakMemory::make_locations() {
    const std::vector<Unit> &units = program_.layout().units();
    locations_.assign(units.size(), {});
    histories_.clear();
    slots_ = events_ = 0;
    for (size_t first = 0, end; first < units.size(); first = end) {
        end = first + 1;
        while (whole_accesses_ && end < units.size() && units[end].joined)
            end++;
        bool has_history = false;
        for (size_t u = first; u < end; u++) {
            has_history |= units[u].shared && units[u].atomic();
            if (units[u].guarded != Unit::kNone)
                make_events(u);
        }
        if (has_history)
            make_history(first, end);
    }
    if (slots_ > kMostSlots)
        throw TooLarge{"shared places with atomic accesses"};
}

void WeakMemory::make_history(size_t first, size_t end) {
    History history;
    history.word = program_.layout().units()[first].word;
    history.first_slot = static_cast<uint16_t>(slots_);
    history.units = UnitSet::first(end - first);
    for (unsigned u : history.units) {
        locations_[first + u].history = static_cast<uint16_t>(histories_.size());
        locations_[first + u].unit = static_cast<uint8_t>(u);
    }
    slots_ += static_cast<unsigned>(end - first);
    histories_.push_back(std::move(history));
}

void WeakMemory::make_events(size_t unit) {
    Location &location = locations_[unit];
    location.mixed = program_.layout().units()[unit].atomic();
    location.event = static_cast<uint16_t>(events_);
    events_ = events_of(location).end;
}

// Set-up comes before all: everybody knows what it has done.
void WeakMemory::make_first_messages() {
    View first = nothing();
    std::fill(first.words.begin() + timestamp_words_, first.words.begin() + view_words_,
              ~uint64_t{0});
    views_.fill(first);
    fences_ = first;
    buffered_.fill(0);
    for (History &history : histories_)
        history.messages = {{{.value = cells_[history.word], .units = history.units}, first}};
}

// States

template <typename Memory, typename Visitor>
void WeakMemory::each_field(Memory &memory, Visitor &visitor) {
    visitor.same(std::span(memory.cells_));
    visitor.same(std::span(memory.buffered_.data(), memory.threads_));
    for (auto &history : memory.histories_)
        visitor.messages(history);
    for (auto &history : memory.histories_)
        visitor.message_views(history);
    for (unsigned i = 0; i < memory.threads_ * kViews; i++)
        visitor.view(memory.views_[i]);
    visitor.view(memory.fences_);
}

void WeakMemory::save(std::vector<uint64_t> &words) const {
    StateWriter writer(words, view_shape());
    each_field(*this, writer);
}

void WeakMemory::load(const uint64_t *words) {
    StateReader reader(words, view_shape());
    each_field(*this, reader);
}

Hash WeakMemory::subsumption_class(std::span<const uint64_t> nodes, const uint64_t *words) const {
    SubsumptionClass shared(nodes, words);
    each_field(*this, shared);
    return shared.hash();
}

bool WeakMemory::covers(const uint64_t *more, const uint64_t *less) const {
    Coverage coverage(more, less, view_shape());
    each_field(*this, coverage);
    return coverage.holds();
}

void WeakMemory::see_all() {
    View all = nothing();
    for (const History &history : histories_) {
        for (unsigned u : history.units)
            all.timestamps()[history.slot(u)] = static_cast<uint8_t>(history.newest(u));
    }
    std::fill(all.words.begin() + timestamp_words_, all.words.begin() + view_words_, ~uint64_t{0});
    each_view([&](View &view) { view = all; });
    buffered_.fill(0);
    for (History &history : histories_)
        prune(history, all);
}

void WeakMemory::current(std::vector<uint64_t> &words) const {
    words = cells_;
    const std::vector<Unit> &units = program_.layout().units();
    for (size_t u = 0; u < units.size(); u++) {
        const Location &location = locations_[u];
        if (location.is_cell())
            continue;
        const History &history = histories_[location.history];
        uint64_t last = history.messages[history.newest(location.unit)].value;
        uint64_t &word = words[units[u].word];
        word = (word & ~units[u].mask()) | (last & units[u].mask());
    }
}

// Views

template <typename Do> void WeakMemory::each_view(Do action) {
    for (unsigned i = 0; i < threads_ * kViews; i++)
        action(views_[i]);
    action(fences_);
    for (History &history : histories_) {
        for (Message &message : history.messages)
            action(message.view);
    }
}

void WeakMemory::join(View &into, const View &from) const {
    for (unsigned i = 0; i < slots_; i++)
        into.see(i, from.timestamps()[i]);
    for (unsigned i = timestamp_words_; i < view_words_; i++)
        into.words[i] |= from.words[i];
}

// What has happened before, without timestamps.
void WeakMemory::copy_events(View &into, const View &from) const {
    std::copy(from.words.begin() + timestamp_words_, from.words.begin() + view_words_,
              into.words.begin() + timestamp_words_);
}

// First an acquire fence; then the thread and the view of all fences see what either has seen; last
// a release fence. That order among fences makes no event known.
void WeakMemory::full_fence(unsigned thread) {
    View &cur = view(thread, kCur);
    cur = view(thread, kAcq);
    for (unsigned i = 0; i < slots_; i++)
        cur.see(i, fences_.timestamps()[i]);
    std::copy_n(cur.words.begin(), timestamp_words_, fences_.words.begin());
    view(thread, kAcq) = cur;
    view(thread, kRel) = cur;
    buffered_[thread] = 0;
}

// Loads and stores

// Whether the thread may still read its own last store to a unit before others can.
bool WeakMemory::forwards(unsigned thread, const History &history, unsigned unit) const {
    unsigned slot = history.slot(unit);
    return buffered_[thread] >> slot & 1 &&
           history.messages[view(thread, kCur).timestamps()[slot]].writer == thread + 1;
}

// Which messages an access finds at the point `read.point`, and whether it may read there. Before
// the oldest message to a unit that its thread may read, only the thread's own store is left:
// others may have been removed.
bool WeakMemory::reads_at(unsigned thread, const History &history, UnitSet units, bool may_forward,
                          ReadsFrom &read) const {
    bool possible = true;
    read.forwarded = {};
    for (unsigned u : units) {
        unsigned oldest = view(thread, kCur).timestamps()[history.slot(u)];
        if (read.point >= oldest) {
            read.message[u] = static_cast<uint8_t>(history.last_to(u, read.point));
            continue;
        }
        read.message[u] = static_cast<uint8_t>(oldest);
        read.forwarded.add(UnitSet::only(u));
        possible &= may_forward && forwards(thread, history, u);
    }
    return possible;
}

void WeakMemory::readable(unsigned thread, const History &history, UnitSet units, bool may_forward,
                          std::vector<ReadsFrom> &found) const {
    found.clear();
    for (unsigned i = 0; i < history.messages.size(); i++) {
        if (!history.messages[i].units.meets(units))
            continue;
        ReadsFrom read;
        read.point = static_cast<uint8_t>(i);
        bool possible = reads_at(thread, history, units, may_forward, read);
        bool is_new = std::none_of(found.begin(), found.end(), [&](const ReadsFrom &known) {
            return known.message == read.message;
        });
        if (possible && is_new)
            found.push_back(read);
    }
}

void WeakMemory::writable(unsigned thread, const History &history, UnitSet units, ViewOf passes,
                          std::vector<uint8_t> &timestamps) const {
    unsigned seen = std::max(history.youngest(view(thread, kCur), units),
                             history.youngest(view(thread, passes), history.units));
    timestamps.clear();
    for (unsigned i = seen + 1; i <= history.messages.size(); i++) {
        if (history.may_insert(units, i))
            timestamps.push_back(static_cast<uint8_t>(i));
    }
}

void WeakMemory::writable_after(unsigned thread, const History &history, UnitSet units,
                                ViewOf passes, const ReadsFrom &read,
                                std::vector<uint8_t> &timestamps) const {
    unsigned seen = history.youngest(view(thread, passes), history.units);
    timestamps.clear();
    for (unsigned i = read.point + 1u;; i++) {
        if (i > seen && history.may_insert(units, i))
            timestamps.push_back(static_cast<uint8_t>(i));
        if (i >= history.messages.size() || history.messages[i].units.meets(units))
            return;
    }
}

void WeakMemory::insert(unsigned thread, History &history, unsigned timestamp,
                        const Message &message, std::vector<View> &also) {
    if (history.messages.size() >= kMostMessages)
        throw TooLarge{"stores to one place that threads may still read"};
    auto make_room = [&](View &view) {
        for (unsigned u : history.units) {
            uint8_t &seen = view.timestamps()[history.slot(u)];
            seen = static_cast<uint8_t>(seen + (seen >= timestamp));
        }
    };
    each_view(make_room);
    for (View &view : also)
        make_room(view);
    history.messages.insert(history.messages.begin() + timestamp, message);
    history.messages[timestamp].writer =
        history.is_divided() ? static_cast<uint8_t>(thread + 1) : 0;
    for (unsigned u : message.units) {
        unsigned slot = history.slot(u);
        view(thread, kCur).see(slot, static_cast<uint8_t>(timestamp));
        view(thread, kAcq).see(slot, static_cast<uint8_t>(timestamp));
        if (history.is_divided())
            buffered_[thread] |= uint64_t{1} << slot;
    }
}

void WeakMemory::make_adjacent(History &history, UnitSet units, const ReadsFrom &read) {
    for (unsigned u : units.without(read.forwarded)) {
        if (read.message[u] < read.point)
            history.messages[read.point].adjacent.add(UnitSet::only(u));
    }
}

// Races

WeakMemory::Events WeakMemory::events_of(const Location &location) const {
    Events events;
    events.plain_store = location.event;
    events.plain_loads = events.plain_store + 1;
    events.atomic_stores = events.plain_loads + threads_;
    events.atomic_loads = events.atomic_stores + (location.mixed ? threads_ : 0);
    events.end = events.atomic_loads + (location.mixed ? threads_ : 0);
    return events;
}

bool WeakMemory::knows_all(const View &view, unsigned first) const {
    for (unsigned t = 0; t < threads_; t++) {
        if (!knows(view, first + t))
            return false;
    }
    return true;
}

bool WeakMemory::races(unsigned thread, const Location &location, bool plain, bool write) {
    if (location.event == Location::kNone)
        return false;
    const Events events = events_of(location);
    const View &cur = view(thread, kCur);
    bool known = knows(cur, events.plain_store);
    if (write)
        known = known && knows_all(cur, events.plain_loads);
    if (plain && location.mixed)
        known = known && knows_all(cur, events.atomic_stores) &&
                (!write || knows_all(cur, events.atomic_loads));
    if (!known)
        return true;
    if (plain && write) {
        forget_events(events);
        note_event(thread, events.plain_store);
    } else {
        note_event(thread, (plain   ? events.plain_loads
                            : write ? events.atomic_stores
                                    : events.atomic_loads) +
                               thread);
    }
    return false;
}

// Before a plain store: who knows the store knows what came before it, and who does not races with
// the store anyway.
void WeakMemory::forget_events(const Events &events) {
    for (unsigned event = events.plain_store; event < events.end; event++)
        each_view([&](View &view) {
            view.words[timestamp_words_ + event / 64] |= uint64_t{1} << event % 64;
        });
}

void WeakMemory::note_event(unsigned thread, unsigned event) {
    size_t word = timestamp_words_ + event / 64;
    uint64_t bit = uint64_t{1} << event % 64;
    each_view([&](View &view) { view.words[word] &= ~bit; });
    view(thread, kCur).words[word] |= bit;
    view(thread, kAcq).words[word] |= bit;
}

// Future uses

bool WeakMemory::FutureUses::is_nothing() const {
    return slots == 0 && !acquire_fence && !full_fence && !store &&
           std::ranges::all_of(events, [](uint64_t word) { return word == 0; });
}

bool WeakMemory::FutureUses::has_all_of(const FutureUses &other) const {
    for (size_t i = 0; i < events.size(); i++) {
        if (other.events[i] & ~events[i])
            return false;
    }
    return !(other.slots & ~slots) && acquire_fence >= other.acquire_fence &&
           full_fence >= other.full_fence && store >= other.store;
}

void WeakMemory::FutureUses::add(const FutureUses &other) {
    slots |= other.slots;
    for (size_t i = 0; i < events.size(); i++)
        events[i] |= other.events[i];
    acquire_fence |= other.acquire_fence;
    full_fence |= other.full_fence;
    store |= other.store;
}

WeakMemory::FutureUses WeakMemory::no_future_uses() const {
    FutureUses uses;
    uses.events.resize(view_words_ - timestamp_words_);
    return uses;
}

WeakMemory::FutureUses WeakMemory::all_future_uses() const {
    FutureUses uses = no_future_uses();
    uses.slots = ~uint64_t{0};
    std::ranges::fill(uses.events, ~uint64_t{0});
    uses.acquire_fence = uses.full_fence = uses.store = true;
    return uses;
}

void WeakMemory::add_unit(FutureUses &uses, size_t unit) const {
    const Location &location = locations_[unit];
    if (!location.is_cell()) { // where a store goes depends on all units of the history
        const History &history = histories_[location.history];
        uses.slots |= uint64_t{history.units.bits()} << history.first_slot;
    }
    if (location.event == Location::kNone)
        return;
    const Events events = events_of(location);
    for (unsigned event = events.plain_store; event < events.end; event++)
        uses.events[event / 64] |= uint64_t{1} << event % 64;
}

// What no thread can notice

void WeakMemory::collect_garbage(const std::vector<const FutureUses *> &uses, bool interrupts) {
    const View seen = seen_by_all(uses);
    if (!interrupts) {
        bool fences = false;
        for (unsigned t = 0; t < threads_; t++) {
            forget(t, *uses[t]);
            fences |= uses[t]->full_fence;
        }
        if (!fences)
            fences_ = nothing();
    }
    each_view([&](View &view) { join(view, seen); });
    for (History &history : histories_)
        prune(history, seen);
}

// What every thread has seen that will ask for it; where none will, the last messages.
View WeakMemory::seen_by_all(const std::vector<const FutureUses *> &uses) const {
    View seen = nothing();
    std::fill_n(seen.timestamps(), slots_, UINT8_MAX);
    std::fill(seen.words.begin() + timestamp_words_, seen.words.begin() + view_words_,
              ~uint64_t{0});
    for (unsigned t = 0; t < threads_; t++) {
        const View &cur = view(t, kCur);
        for (unsigned i = 0; i < slots_; i++) {
            if (uses[t]->slots >> i & 1)
                seen.timestamps()[i] = std::min(seen.timestamps()[i], cur.timestamps()[i]);
        }
        for (unsigned i = timestamp_words_; i < view_words_; i++)
            seen.words[i] &= cur.words[i] | ~uses[t]->events[i - timestamp_words_];
    }
    for (const History &history : histories_) {
        for (unsigned u : history.units) {
            uint8_t &timestamp = seen.timestamps()[history.slot(u)];
            timestamp = std::min(timestamp, static_cast<uint8_t>(history.newest(u)));
        }
    }
    return seen;
}

// What nobody asks any more of what a thread has seen.
void WeakMemory::forget(unsigned thread, const FutureUses &uses) {
    if (uses.is_nothing())
        return retire(thread);
    buffered_[thread] &= uses.slots;
    if (!uses.acquire_fence && !uses.full_fence)
        view(thread, kAcq) = view(thread, kCur);
    if (!uses.store)
        view(thread, kRel) = nothing();
}

void WeakMemory::retire(unsigned thread) {
    buffered_[thread] = 0;
    View all = nothing();
    std::fill(all.words.begin() + timestamp_words_, all.words.begin() + view_words_, ~uint64_t{0});
    for (ViewOf which : {kCur, kAcq, kRel})
        view(thread, which) = all;
}

// Removes messages that nobody can read, and no longer calls adjacent what nobody can divide.
void WeakMemory::prune(History &history, const View &seen) {
    const uint8_t *readable_from = seen.timestamps() + history.first_slot;
    unsigned removed = 0;
    for (unsigned i = 0; i < history.messages.size();) {
        Message &message = history.messages[i];
        bool dead = true;
        for (unsigned u : history.units) {
            if (readable_from[u] >= i + removed)
                message.adjacent = message.adjacent.without(UnitSet::only(u));
        }
        for (unsigned u : message.units)
            dead &= i + removed < readable_from[u];
        if (!dead) {
            i++;
            continue;
        }
        remove(history, i);
        removed++;
    }
}

void WeakMemory::remove(History &history, unsigned timestamp) {
    if (timestamp > 0) { // what was closed up to this message stays closed up to the one before
        Message &before = history.messages[timestamp - 1];
        before.adjacent.add(history.messages[timestamp].adjacent.without(before.units));
    }
    history.messages.erase(history.messages.begin() + timestamp);
    each_view([&](View &view) {
        for (unsigned u : history.units) {
            uint8_t &seen = view.timestamps()[history.slot(u)];
            seen = static_cast<uint8_t>(seen - (seen > timestamp));
        }
    });
}

} // namespace prove
