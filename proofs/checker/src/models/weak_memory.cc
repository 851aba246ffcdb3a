#include "models/weak_memory.h"

#include "models/machine.h"

#include <cstring>

namespace prove {

namespace {

// Coherence order and views are kept in bytes.
constexpr size_t kMostStores = 250;
constexpr unsigned kMostSlots = 64;

} // namespace

// Layout

void WeakMemory::begin() {
    const Layout &layout = program_.layout();
    cells_.resize(layout.words());
    for (size_t i = 0; i < cells_.size(); i++)
        cells_[i] = program_.native().initial(layout.word_address(i), 8);
    make_places();
    position_words_ = (slots_ + 7) / 8;
    view_words_ = position_words_ + (events_ + 63) / 64;
    if (view_words_ > View::kMostWords)
        throw TooLarge{"places of a view"};
    make_first_stores();
}

View WeakMemory::nothing() const {
    View view;
    std::fill_n(view.words.begin(), view_words_, 0);
    return view;
}

// A unit is in a history if threads share it and some access of it is atomic, or, in a history of
// several, if that holds of a unit that an access joins with it.
void WeakMemory::make_places() {
    const std::vector<Unit> &units = program_.layout().units();
    places_.assign(units.size(), {});
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
        places_[first + u].history = static_cast<uint16_t>(histories_.size());
        places_[first + u].unit = static_cast<uint8_t>(u);
    }
    slots_ += static_cast<unsigned>(end - first);
    histories_.push_back(std::move(history));
}

void WeakMemory::make_events(size_t unit) {
    Place &place = places_[unit];
    place.mixed = program_.layout().units()[unit].atomic();
    place.event = static_cast<uint16_t>(events_);
    events_ = events_of(place).end;
}

// Set-up comes before all: everybody knows what it has done.
void WeakMemory::make_first_stores() {
    View first = nothing();
    std::fill(first.words.begin() + position_words_, first.words.begin() + view_words_,
              ~uint64_t{0});
    views_.fill(first);
    fences_ = first;
    buffered_.fill(0);
    for (History &history : histories_)
        history.stores = {{cells_[history.word], history.units, {}, 0, first}};
}

// States

void WeakMemory::save(std::vector<uint64_t> &words) const {
    auto add_view = [&](const View &view) {
        words.insert(words.end(), view.words.begin(), view.words.begin() + view_words_);
    };
    words.insert(words.end(), cells_.begin(), cells_.end());
    for (unsigned t = 0; t < threads_; t++)
        words.push_back(buffered_[t]);
    for (unsigned i = 0; i < threads_ * kViews; i++)
        add_view(views_[i]);
    add_view(fences_);
    for (const History &history : histories_) {
        words.push_back(history.stores.size());
        for (const Store &store : history.stores) {
            words.push_back(store.value);
            words.push_back(static_cast<uint64_t>(store.units.bits()) |
                            static_cast<uint64_t>(store.adjacent.bits()) << 8 |
                            static_cast<uint64_t>(store.writer) << 16);
            add_view(store.view);
        }
    }
}

void WeakMemory::load(const uint64_t *words) {
    auto take_view = [&](View &view) {
        std::memcpy(view.words.data(), words, view_words_ * sizeof *words);
        words += view_words_;
    };
    std::memcpy(cells_.data(), words, cells_.size() * sizeof *words);
    words += cells_.size();
    for (unsigned t = 0; t < threads_; t++)
        buffered_[t] = *words++;
    for (unsigned i = 0; i < threads_ * kViews; i++)
        take_view(views_[i]);
    take_view(fences_);
    for (History &history : histories_) {
        history.stores.resize(*words++);
        for (Store &store : history.stores) {
            store.value = words[0];
            store.units = UnitSet(words[1]);
            store.adjacent = UnitSet(words[1] >> 8);
            store.writer = static_cast<uint8_t>(words[1] >> 16);
            words += 2;
            take_view(store.view);
        }
    }
}

size_t WeakMemory::words_before_histories() const {
    return cells_.size() + threads_ + (threads_ * kViews + 1) * view_words_;
}

Hash WeakMemory::place(const uint64_t *words, unsigned nodes) const {
    std::vector<uint64_t> said(words, words + nodes + cells_.size() + threads_);
    words += nodes + words_before_histories();
    for (const History &history : histories_) {
        const size_t count = *words++;
        // Of a divided history any store may be the last to a unit.
        for (size_t i = history.is_divided() ? 0 : count - 1; i < count; i++) {
            const uint64_t *store = words + i * words_of_store();
            said.insert(said.end(), store, store + (history.is_divided() ? 2 : 1));
        }
        words += count * words_of_store();
    }
    return hash_words(said.data(), said.size());
}

// The histories of `less` have to be the last parts of those of `more`. In front of the first store
// of `less` nobody can put one, so nobody asks there what is adjacent.
bool WeakMemory::covers(const uint64_t *more, const uint64_t *less) const {
    constexpr uint64_t kAdjacent = 0xff00;
    std::array<uint8_t, kMostSlots> longer; // by so many stores, by slot
    auto is_behind = [&](const uint64_t *view, const uint64_t *other) {
        const auto *seen = reinterpret_cast<const uint8_t *>(view);
        const auto *other_seen = reinterpret_cast<const uint8_t *>(other);
        for (unsigned i = 0; i < slots_; i++) {
            if (seen[i] > other_seen[i] + longer[i])
                return false;
        }
        for (unsigned i = position_words_; i < view_words_; i++) {
            if (view[i] & ~other[i])
                return false;
        }
        return true;
    };
    // Visits the stores that both have, those of the first part of a history first.
    auto all_stores = [&](auto fits) {
        const uint64_t *a = more + words_before_histories(), *b = less + words_before_histories();
        for (const History &history : histories_) {
            const size_t of_a = *a++, of_b = *b++;
            if (of_a < of_b)
                return false;
            for (unsigned u : history.units)
                longer[history.slot(u)] = static_cast<uint8_t>(of_a - of_b);
            a += (of_a - of_b) * words_of_store();
            for (size_t i = 0; i < of_b; i++, a += words_of_store(), b += words_of_store()) {
                if (!fits(a, b, i == 0))
                    return false;
            }
        }
        return true;
    };
    if (!all_stores([&](const uint64_t *a, const uint64_t *b, bool is_first) {
            return a[0] == b[0] && !((a[1] ^ b[1]) & (is_first ? ~kAdjacent : ~uint64_t{0}));
        }))
        return false;
    const size_t views = cells_.size() + threads_;
    for (size_t i = views; i < words_before_histories(); i += view_words_) {
        if (!is_behind(more + i, less + i))
            return false;
    }
    return all_stores(
        [&](const uint64_t *a, const uint64_t *b, bool) { return is_behind(a + 2, b + 2); });
}

void WeakMemory::see_all() {
    View all = nothing();
    for (const History &history : histories_) {
        for (unsigned u : history.units)
            all.positions()[history.slot(u)] = static_cast<uint8_t>(history.newest(u));
    }
    std::fill(all.words.begin() + position_words_, all.words.begin() + view_words_, ~uint64_t{0});
    each_view([&](View &view) { view = all; });
    buffered_.fill(0);
    for (History &history : histories_)
        prune(history, all);
}

void WeakMemory::current(std::vector<uint64_t> &words) const {
    words = cells_;
    const std::vector<Unit> &units = program_.layout().units();
    for (size_t u = 0; u < units.size(); u++) {
        const Place &place = places_[u];
        if (place.is_cell())
            continue;
        const History &history = histories_[place.history];
        uint64_t last = history.stores[history.newest(place.unit)].value;
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
        for (Store &store : history.stores)
            action(store.view);
    }
}

void WeakMemory::join(View &into, const View &from) const {
    for (unsigned i = 0; i < slots_; i++)
        into.see(i, from.positions()[i]);
    for (unsigned i = position_words_; i < view_words_; i++)
        into.words[i] |= from.words[i];
}

// What has happened before, without positions.
void WeakMemory::copy_events(View &into, const View &from) const {
    std::copy(from.words.begin() + position_words_, from.words.begin() + view_words_,
              into.words.begin() + position_words_);
}

// First an acquire fence; then the thread and the view of all fences see what either has seen; last
// a release fence. That order among fences makes no event known.
void WeakMemory::full_fence(unsigned thread) {
    View &cur = view(thread, kCur);
    cur = view(thread, kAcq);
    for (unsigned i = 0; i < slots_; i++)
        cur.see(i, fences_.positions()[i]);
    std::copy_n(cur.words.begin(), position_words_, fences_.words.begin());
    view(thread, kAcq) = cur;
    view(thread, kRel) = cur;
    buffered_[thread] = 0;
}

// Loads and stores

// Whether the thread may still read its own last store to a unit before others can.
bool WeakMemory::forwards(unsigned thread, const History &history, unsigned unit) const {
    unsigned slot = history.slot(unit);
    return buffered_[thread] >> slot & 1 &&
           history.stores[view(thread, kCur).positions()[slot]].writer == thread + 1;
}

// Which stores an access finds at the point `read.point`, and whether it may read there. Before the
// oldest store to a unit that its thread may read, only the thread's own store is left: others may
// have been removed.
bool WeakMemory::reads_at(unsigned thread, const History &history, UnitSet units, bool may_forward,
                          ReadsFrom &read) const {
    bool possible = true;
    read.forwarded = {};
    for (unsigned u : units) {
        unsigned oldest = view(thread, kCur).positions()[history.slot(u)];
        if (read.point >= oldest) {
            read.store[u] = static_cast<uint8_t>(history.last_to(u, read.point));
            continue;
        }
        read.store[u] = static_cast<uint8_t>(oldest);
        read.forwarded.add(UnitSet::only(u));
        possible &= may_forward && forwards(thread, history, u);
    }
    return possible;
}

void WeakMemory::readable(unsigned thread, const History &history, UnitSet units, bool may_forward,
                          std::vector<ReadsFrom> &found) const {
    found.clear();
    for (unsigned i = 0; i < history.stores.size(); i++) {
        if (!history.stores[i].units.meets(units))
            continue;
        ReadsFrom read;
        read.point = static_cast<uint8_t>(i);
        bool possible = reads_at(thread, history, units, may_forward, read);
        bool is_new = std::none_of(found.begin(), found.end(), [&](const ReadsFrom &known) {
            return known.store == read.store;
        });
        if (possible && is_new)
            found.push_back(read);
    }
}

void WeakMemory::writable(unsigned thread, const History &history, UnitSet units, ViewOf passes,
                          std::vector<uint8_t> &positions) const {
    unsigned behind = std::max(history.youngest(view(thread, kCur), units),
                               history.youngest(view(thread, passes), history.units));
    positions.clear();
    for (unsigned i = behind + 1; i <= history.stores.size(); i++) {
        if (history.may_insert(units, i))
            positions.push_back(static_cast<uint8_t>(i));
    }
}

void WeakMemory::writable_behind(unsigned thread, const History &history, UnitSet units,
                                 ViewOf passes, const ReadsFrom &read,
                                 std::vector<uint8_t> &positions) const {
    unsigned behind = history.youngest(view(thread, passes), history.units);
    positions.clear();
    for (unsigned i = read.point + 1u;; i++) {
        if (i > behind && history.may_insert(units, i))
            positions.push_back(static_cast<uint8_t>(i));
        if (i >= history.stores.size() || history.stores[i].units.meets(units))
            return;
    }
}

void WeakMemory::insert(unsigned thread, History &history, unsigned position, const Store &store,
                        std::vector<View> &also) {
    if (history.stores.size() >= kMostStores)
        throw TooLarge{"stores to one place that threads may still read"};
    auto make_room = [&](View &view) {
        for (unsigned u : history.units) {
            uint8_t &seen = view.positions()[history.slot(u)];
            seen = static_cast<uint8_t>(seen + (seen >= position));
        }
    };
    each_view(make_room);
    for (View &view : also)
        make_room(view);
    history.stores.insert(history.stores.begin() + position, store);
    history.stores[position].writer = history.is_divided() ? static_cast<uint8_t>(thread + 1) : 0;
    for (unsigned u : store.units) {
        unsigned slot = history.slot(u);
        view(thread, kCur).see(slot, static_cast<uint8_t>(position));
        view(thread, kAcq).see(slot, static_cast<uint8_t>(position));
        if (history.is_divided())
            buffered_[thread] |= uint64_t{1} << slot;
    }
}

void WeakMemory::make_adjacent(History &history, UnitSet units, const ReadsFrom &read) {
    for (unsigned u : units.without(read.forwarded)) {
        if (read.store[u] < read.point)
            history.stores[read.point].adjacent.add(UnitSet::only(u));
    }
}

// Races

WeakMemory::Events WeakMemory::events_of(const Place &place) const {
    Events events;
    events.plain_store = place.event;
    events.plain_loads = events.plain_store + 1;
    events.atomic_stores = events.plain_loads + threads_;
    events.atomic_loads = events.atomic_stores + (place.mixed ? threads_ : 0);
    events.end = events.atomic_loads + (place.mixed ? threads_ : 0);
    return events;
}

bool WeakMemory::knows_all(const View &view, unsigned first) const {
    for (unsigned t = 0; t < threads_; t++) {
        if (!knows(view, first + t))
            return false;
    }
    return true;
}

bool WeakMemory::races(unsigned thread, const Place &place, bool plain, bool write) {
    if (place.event == Place::kNone)
        return false;
    const Events events = events_of(place);
    const View &cur = view(thread, kCur);
    bool known = knows(cur, events.plain_store);
    if (write)
        known = known && knows_all(cur, events.plain_loads);
    if (plain && place.mixed)
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
            view.words[position_words_ + event / 64] |= uint64_t{1} << event % 64;
        });
}

void WeakMemory::note_event(unsigned thread, unsigned event) {
    size_t word = position_words_ + event / 64;
    uint64_t bit = uint64_t{1} << event % 64;
    each_view([&](View &view) { view.words[word] &= ~bit; });
    view(thread, kCur).words[word] |= bit;
    view(thread, kAcq).words[word] |= bit;
}

// What lies ahead

bool WeakMemory::Ahead::is_nothing() const {
    return slots == 0 && !acquire_fence && !full_fence && !store &&
           std::ranges::all_of(events, [](uint64_t word) { return word == 0; });
}

bool WeakMemory::Ahead::has_all_of(const Ahead &other) const {
    for (size_t i = 0; i < events.size(); i++) {
        if (other.events[i] & ~events[i])
            return false;
    }
    return !(other.slots & ~slots) && acquire_fence >= other.acquire_fence &&
           full_fence >= other.full_fence && store >= other.store;
}

void WeakMemory::Ahead::add(const Ahead &other) {
    slots |= other.slots;
    for (size_t i = 0; i < events.size(); i++)
        events[i] |= other.events[i];
    acquire_fence |= other.acquire_fence;
    full_fence |= other.full_fence;
    store |= other.store;
}

WeakMemory::Ahead WeakMemory::nothing_ahead() const {
    Ahead ahead;
    ahead.events.resize(view_words_ - position_words_);
    return ahead;
}

WeakMemory::Ahead WeakMemory::all_ahead() const {
    Ahead ahead = nothing_ahead();
    ahead.slots = ~uint64_t{0};
    std::ranges::fill(ahead.events, ~uint64_t{0});
    ahead.acquire_fence = ahead.full_fence = ahead.store = true;
    return ahead;
}

void WeakMemory::add_unit(Ahead &ahead, size_t unit) const {
    const Place &place = places_[unit];
    if (!place.is_cell()) { // where a store goes depends on all units of the history
        const History &history = histories_[place.history];
        ahead.slots |= uint64_t{history.units.bits()} << history.first_slot;
    }
    if (place.event == Place::kNone)
        return;
    const Events events = events_of(place);
    for (unsigned event = events.plain_store; event < events.end; event++)
        ahead.events[event / 64] |= uint64_t{1} << event % 64;
}

// What no thread can notice

void WeakMemory::collect_garbage(const std::vector<const Ahead *> &ahead, bool interrupts) {
    const View seen = seen_by_all(ahead);
    if (!interrupts) {
        bool fences = false;
        for (unsigned t = 0; t < threads_; t++) {
            forget(t, *ahead[t]);
            fences |= ahead[t]->full_fence;
        }
        if (!fences)
            fences_ = nothing();
    }
    each_view([&](View &view) { join(view, seen); });
    for (History &history : histories_)
        prune(history, seen);
}

// What every thread has seen that will ask for it; where none will, the last stores.
View WeakMemory::seen_by_all(const std::vector<const Ahead *> &ahead) const {
    View seen = nothing();
    std::fill_n(seen.positions(), slots_, UINT8_MAX);
    std::fill(seen.words.begin() + position_words_, seen.words.begin() + view_words_, ~uint64_t{0});
    for (unsigned t = 0; t < threads_; t++) {
        const View &cur = view(t, kCur);
        for (unsigned i = 0; i < slots_; i++) {
            if (ahead[t]->slots >> i & 1)
                seen.positions()[i] = std::min(seen.positions()[i], cur.positions()[i]);
        }
        for (unsigned i = position_words_; i < view_words_; i++)
            seen.words[i] &= cur.words[i] | ~ahead[t]->events[i - position_words_];
    }
    for (const History &history : histories_) {
        for (unsigned u : history.units) {
            uint8_t &position = seen.positions()[history.slot(u)];
            position = std::min(position, static_cast<uint8_t>(history.newest(u)));
        }
    }
    return seen;
}

// What nobody asks any more of what a thread has seen.
void WeakMemory::forget(unsigned thread, const Ahead &ahead) {
    if (ahead.is_nothing())
        return retire(thread);
    buffered_[thread] &= ahead.slots;
    if (!ahead.acquire_fence && !ahead.full_fence)
        view(thread, kAcq) = view(thread, kCur);
    if (!ahead.store)
        view(thread, kRel) = nothing();
}

void WeakMemory::retire(unsigned thread) {
    buffered_[thread] = 0;
    View all = nothing();
    std::fill(all.words.begin() + position_words_, all.words.begin() + view_words_, ~uint64_t{0});
    for (ViewOf which : {kCur, kAcq, kRel})
        view(thread, which) = all;
}

// Removes stores that nobody can read, and no longer calls adjacent what nobody can divide.
void WeakMemory::prune(History &history, const View &seen) {
    const uint8_t *readable_from = seen.positions() + history.first_slot;
    unsigned removed = 0;
    for (unsigned i = 0; i < history.stores.size();) {
        Store &store = history.stores[i];
        bool dead = true;
        for (unsigned u : history.units) {
            if (readable_from[u] >= i + removed)
                store.adjacent = store.adjacent.without(UnitSet::only(u));
        }
        for (unsigned u : store.units)
            dead &= i + removed < readable_from[u];
        if (!dead) {
            i++;
            continue;
        }
        remove(history, i);
        removed++;
    }
}

void WeakMemory::remove(History &history, unsigned position) {
    if (position > 0) { // what was closed up to this store stays closed up to the one before
        Store &before = history.stores[position - 1];
        before.adjacent.add(history.stores[position].adjacent.without(before.units));
    }
    history.stores.erase(history.stores.begin() + position);
    each_view([&](View &view) {
        for (unsigned u : history.units) {
            uint8_t &seen = view.positions()[history.slot(u)];
            seen = static_cast<uint8_t>(seen - (seen > position));
        }
    });
}

} // namespace prove
