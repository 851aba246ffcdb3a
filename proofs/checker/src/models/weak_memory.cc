#include "models/weak_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace prove {

namespace {

uint64_t mask_of(const Unit &unit) { return low_bytes(~uint64_t{0}, unit.size) << 8 * unit.offset; }

// Coherence order and views are kept in bytes.
constexpr size_t kMostStores = 250;

[[noreturn]] void too_large(const char *what) {
    std::fprintf(stderr, "prover: the client has too many %s for the weak models\n", what);
    std::exit(2);
}

} // namespace

// Layout

void WeakMemory::begin() {
    const Layout &layout = program_.layout();
    cells_.resize(layout.words());
    for (size_t i = 0; i < cells_.size(); i++)
        cells_[i] = program_.native().initial(layout.word_address(i), 8);
    make_places();
    make_lists();
    position_words_ = (slots_ + 7) / 8;
    view_words_ = position_words_ + (columns_ + 63) / 64;
    if (view_words_ > View::kMostWords)
        too_large("places");
    View known = nothing(); // set-up comes before all
    for (unsigned i = position_words_; i < view_words_; i++)
        known.words[i] = ~uint64_t{0};
    views_.fill(known);
    fences_ = known;
    buffered_.fill(0);
    for (List &list : lists_) {
        for (Store &store : list.stores)
            store.view = known;
    }
}

View WeakMemory::nothing() const {
    View view;
    for (unsigned i = 0; i < view_words_; i++)
        view.words[i] = 0;
    return view;
}

// A unit is in a list if threads share it and some access of it is atomic, or, in a list of
// several, if that holds of a unit that an access joins with it.
void WeakMemory::make_places() {
    const std::vector<Unit> &units = program_.layout().units();
    places_.assign(units.size(), {});
    lists_.clear();
    slots_ = columns_ = 0;
    for (size_t u = 0; u < units.size();) {
        size_t end = u + 1;
        while (whole_accesses_ && end < units.size() && units[end].joined)
            end++;
        bool listed = std::any_of(units.begin() + static_cast<std::ptrdiff_t>(u),
                                  units.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](const Unit &unit) { return unit.shared && unit.atomic(); });
        if (listed) {
            List list;
            list.word = units[u].word;
            list.first_slot = static_cast<uint16_t>(slots_);
            list.units = static_cast<uint8_t>(end - u);
            for (size_t i = u; i < end; i++) {
                places_[i].list = static_cast<uint16_t>(lists_.size());
                places_[i].bit = static_cast<uint8_t>(1u << (i - u));
                places_[i].slot = static_cast<uint16_t>(slots_++);
            }
            lists_.push_back(std::move(list));
        }
        for (; u < end; u++) {
            if (units[u].guarded == Unit::kNone)
                continue;
            places_[u].mixed = units[u].atomic();
            places_[u].column = static_cast<uint16_t>(columns_);
            columns_ += 1 + (places_[u].mixed ? 3 : 1) * threads_;
        }
    }
    if (slots_ > 64)
        too_large("shared places with atomic accesses");
}

void WeakMemory::make_lists() {
    for (List &list : lists_) {
        Store first;
        first.value = cells_[list.word];
        first.units = static_cast<uint8_t>((1u << list.units) - 1);
        list.stores.push_back(first);
    }
}

// States

size_t WeakMemory::save(std::vector<uint64_t> &words) const {
    auto add_view = [&](const View &view) {
        words.insert(words.end(), view.words.begin(), view.words.begin() + view_words_);
    };
    words.insert(words.end(), cells_.begin(), cells_.end());
    for (unsigned t = 0; t < threads_; t++)
        words.push_back(buffered_[t]);
    for (unsigned i = 0; i < threads_ * kViews; i++)
        add_view(views_[i]);
    add_view(fences_);
    for (const List &list : lists_) {
        words.push_back(list.stores.size());
        for (const Store &store : list.stores) {
            words.push_back(store.value);
            words.push_back(static_cast<uint64_t>(store.units) |
                            static_cast<uint64_t>(store.glued) << 8 |
                            static_cast<uint64_t>(store.writer) << 16);
            add_view(store.view);
        }
    }
    return words.size();
}

const uint64_t *WeakMemory::load(const uint64_t *words) {
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
    for (List &list : lists_) {
        list.stores.resize(*words++);
        for (Store &store : list.stores) {
            store.value = words[0];
            store.units = static_cast<uint8_t>(words[1]);
            store.glued = static_cast<uint8_t>(words[1] >> 8);
            store.writer = static_cast<uint8_t>(words[1] >> 16);
            words += 2;
            take_view(store.view);
        }
    }
    return words;
}

uint64_t WeakMemory::current(size_t word) const {
    uint64_t value = cells_[word];
    const std::vector<Unit> &units = program_.layout().units();
    for (size_t u = 0; u < units.size(); u++) {
        if (units[u].word != word || places_[u].list == Place::kNone)
            continue;
        const std::vector<Store> &stores = lists_[places_[u].list].stores;
        auto last = std::find_if(stores.rbegin(), stores.rend(),
                                 [&](const Store &store) { return store.units & places_[u].bit; });
        value = (value & ~mask_of(units[u])) | (last->value & mask_of(units[u]));
    }
    return value;
}

// Views

template <typename Do> void WeakMemory::each_view(Do action) {
    for (unsigned i = 0; i < threads_ * kViews; i++)
        action(views_[i]);
    action(fences_);
    for (List &list : lists_) {
        for (Store &store : list.stores)
            action(store.view);
    }
}

void WeakMemory::join(View &into, const View &from) const {
    uint8_t *to = into.positions();
    const uint8_t *other = from.positions();
    for (unsigned i = 0; i < 8 * position_words_; i++)
        to[i] = std::max(to[i], other[i]);
    for (unsigned i = position_words_; i < view_words_; i++)
        into.words[i] |= from.words[i];
}

// What has happened before, without positions.
void WeakMemory::copy_known(View &into, const View &from) const {
    std::copy(from.words.begin() + position_words_, from.words.begin() + view_words_,
              into.words.begin() + position_words_);
}

void WeakMemory::full_fence(unsigned thread) {
    View &cur = view(thread, kCur);
    cur = view(thread, kAcq);
    for (unsigned i = 0; i < slots_; i++) // an order among fences makes nothing known
        cur.positions()[i] = std::max(cur.positions()[i], fences_.positions()[i]);
    std::copy_n(cur.words.begin(), position_words_, fences_.words.begin());
    view(thread, kAcq) = cur;
    view(thread, kRel) = cur;
    buffered_[thread] = 0;
}

// Stores

// Whether the thread may still read its own last store to a unit before others can.
bool WeakMemory::forwards(unsigned thread, const List &list, unsigned unit) const {
    unsigned slot = list.first_slot + unit;
    return buffered_[thread] >> slot & 1 &&
           list.stores[view(thread, kCur).positions()[slot]].writer == thread + 1;
}

void WeakMemory::readable(unsigned thread, unsigned index, uint8_t units, bool may_forward,
                          std::vector<Cut> &cuts) const {
    const List &list = lists_[index];
    const uint8_t *oldest = view(thread, kCur).positions() + list.first_slot;
    cuts.clear();
    Cut cut;
    for (unsigned i = 0; i < list.stores.size(); i++) {
        if (!(list.stores[i].units & units))
            continue;
        bool possible = true;
        cut.forwarded = 0;
        cut.at = static_cast<uint8_t>(i);
        for (unsigned u = 0; u < list.units; u++) {
            if (!(units >> u & 1))
                continue;
            unsigned read = i;
            while (!(list.stores[read].units >> u & 1))
                read--;
            if (read < oldest[u]) {
                bool forwarded = may_forward && forwards(thread, list, u);
                possible &= forwarded;
                cut.forwarded |= static_cast<uint8_t>(forwarded << u);
                read = oldest[u];
            }
            cut.index[u] = static_cast<uint8_t>(read);
        }
        bool is_new = std::none_of(cuts.begin(), cuts.end(),
                                   [&](const Cut &known) { return known.index == cut.index; });
        if (possible && is_new)
            cuts.push_back(cut);
    }
}

// Whether a store to these units may come before the one at `index`.
bool WeakMemory::may_insert(const List &list, uint8_t units, unsigned index) const {
    for (size_t i = index; i < list.stores.size() && units; i++) {
        if (list.stores[i].glued & units)
            return false;
        units &= static_cast<uint8_t>(~list.stores[i].units);
    }
    return true;
}

// The youngest store to one of these units in a view.
unsigned WeakMemory::youngest(const View &view, const List &list, uint8_t units) {
    const uint8_t *oldest = view.positions() + list.first_slot;
    unsigned result = 0;
    for (unsigned u = 0; u < list.units; u++) {
        if (units >> u & 1)
            result = std::max<unsigned>(result, oldest[u]);
    }
    return result;
}

void WeakMemory::insertable(unsigned thread, unsigned index, uint8_t units, ViewOf passes,
                            std::vector<uint8_t> &indices) const {
    const List &list = lists_[index];
    unsigned behind = std::max(youngest(view(thread, kCur), list, units),
                               youngest(view(thread, passes), list, UINT8_MAX));
    indices.clear();
    for (unsigned i = behind + 1; i <= list.stores.size(); i++) {
        if (may_insert(list, units, i))
            indices.push_back(static_cast<uint8_t>(i));
    }
}

void WeakMemory::insertable_behind(unsigned thread, unsigned index, uint8_t units, ViewOf passes,
                                   const Cut &cut, std::vector<uint8_t> &indices) const {
    const List &list = lists_[index];
    unsigned behind = youngest(view(thread, passes), list, UINT8_MAX);
    indices.clear();
    for (unsigned i = cut.at + 1u;; i++) {
        if (i > behind && may_insert(list, units, i))
            indices.push_back(static_cast<uint8_t>(i));
        if (i >= list.stores.size() || list.stores[i].units & units)
            return;
    }
}

void WeakMemory::insert(unsigned thread, unsigned index, unsigned at, const Store &store,
                        std::vector<View> &also) {
    List &list = lists_[index];
    if (list.stores.size() >= kMostStores)
        too_large("stores to one place that threads may still read");
    auto make_room = [&](View &view) {
        for (unsigned u = 0; u < list.units; u++) {
            uint8_t &position = view.positions()[list.first_slot + u];
            position = static_cast<uint8_t>(position + (position >= at));
        }
    };
    each_view(make_room);
    for (View &view : also)
        make_room(view);
    list.stores.insert(list.stores.begin() + at, store);
    list.stores[at].writer = list.units > 1 ? static_cast<uint8_t>(thread + 1) : 0;
    for (unsigned u = 0; u < list.units; u++) {
        if (!(store.units >> u & 1))
            continue;
        unsigned slot = list.first_slot + u;
        view(thread, kCur).positions()[slot] = static_cast<uint8_t>(at);
        uint8_t &acq = view(thread, kAcq).positions()[slot];
        acq = std::max(acq, static_cast<uint8_t>(at));
        if (list.units > 1)
            buffered_[thread] |= uint64_t{1} << slot;
    }
}

void WeakMemory::glue(unsigned index, uint8_t units, const Cut &cut) {
    List &list = lists_[index];
    for (unsigned u = 0; u < list.units; u++) {
        auto bit = static_cast<uint8_t>(1u << u);
        if (units & bit && !(cut.forwarded & bit) && cut.index[u] < cut.at)
            list.stores[cut.at].glued |= bit;
    }
}

// Races

void WeakMemory::note_event(unsigned thread, unsigned column) {
    size_t word = position_words_ + column / 64;
    uint64_t bit = uint64_t{1} << column % 64;
    each_view([&](View &view) { view.words[word] &= ~bit; });
    view(thread, kCur).words[word] |= bit;
    view(thread, kAcq).words[word] |= bit;
}

// Columns of a unit: its last plain store; each thread's last plain load since; and, if it has
// atomic accesses, each thread's last atomic store and load.
bool WeakMemory::races(unsigned thread, const Place &place, bool plain, bool write) {
    if (place.column == Place::kNone)
        return false;
    const unsigned plain_store = place.column, plain_loads = plain_store + 1,
                   atomic_stores = plain_loads + threads_, atomic_loads = atomic_stores + threads_;
    const View &cur = view(thread, kCur);
    auto all_known = [&](unsigned first) {
        for (unsigned t = 0; t < threads_; t++) {
            if (!knows(cur, first + t))
                return false;
        }
        return true;
    };
    bool known = knows(cur, plain_store);
    if (write)
        known = known && all_known(plain_loads);
    if (plain && place.mixed)
        known = known && all_known(atomic_stores) && (!write || all_known(atomic_loads));
    if (!known)
        return true;
    if (plain && write) {
        // Who knows this store knows what came before it, and who does not races with this one.
        unsigned columns = 1 + (place.mixed ? 3 : 1) * threads_;
        for (unsigned column = plain_store; column < plain_store + columns; column++)
            each_view([&](View &view) {
                view.words[position_words_ + column / 64] |= uint64_t{1} << column % 64;
            });
        note_event(thread, plain_store);
    } else {
        note_event(thread, (plain ? plain_loads : write ? atomic_stores : atomic_loads) + thread);
    }
    return false;
}

// What no thread can notice

void WeakMemory::tidy(unsigned ended) {
    std::vector<uint8_t> oldest(slots_, UINT8_MAX); // that any thread may read
    std::array<uint64_t, View::kMostWords> known;
    known.fill(~uint64_t{0});
    for (unsigned t = 0; t < threads_; t++) {
        if (ended >> t & 1) {
            buffered_[t] = 0;
            continue;
        }
        const View &cur = view(t, kCur);
        for (unsigned i = 0; i < slots_; i++)
            oldest[i] = std::min(oldest[i], cur.positions()[i]);
        for (unsigned i = position_words_; i < view_words_; i++)
            known[i] &= cur.words[i];
    }
    for (const List &list : lists_) { // with all threads ended, the last stores
        for (unsigned u = 0; u < list.units; u++) {
            size_t last = list.stores.size() - 1;
            while (!(list.stores[last].units >> u & 1))
                last--;
            uint8_t &position = oldest[list.first_slot + u];
            position = std::min(position, static_cast<uint8_t>(last));
        }
    }
    for (unsigned t = 0; t < threads_; t++) {
        for (unsigned i = 0; ended >> t & 1 && i < kViews; i++) {
            views_[t * kViews + i] = nothing();
            for (unsigned w = position_words_; w < view_words_; w++)
                views_[t * kViews + i].words[w] = ~uint64_t{0};
        }
    }
    each_view([&](View &view) {
        for (unsigned i = 0; i < slots_; i++)
            view.positions()[i] = std::max(view.positions()[i], oldest[i]);
        for (unsigned i = position_words_; i < view_words_; i++)
            view.words[i] |= known[i];
    });
    for (List &list : lists_)
        tidy_list(list, oldest);
}

// Removes stores that nobody can read, and glue where nobody can insert.
void WeakMemory::tidy_list(List &list, const std::vector<uint8_t> &oldest) {
    const uint8_t *readable_from = oldest.data() + list.first_slot;
    unsigned removed = 0;
    for (unsigned i = 0; i < list.stores.size();) {
        Store &store = list.stores[i];
        bool dead = true;
        for (unsigned u = 0; u < list.units; u++) {
            auto bit = static_cast<uint8_t>(1u << u);
            if (readable_from[u] >= i + removed)
                store.glued &= static_cast<uint8_t>(~bit);
            if (store.units & bit)
                dead &= i + removed < readable_from[u];
        }
        if (!dead) {
            i++;
            continue;
        }
        remove(list, i);
        removed++;
    }
}

void WeakMemory::remove(List &list, unsigned index) {
    if (index > 0) { // what was closed up to this store stays closed up to the one before
        Store &before = list.stores[index - 1];
        before.glued |= list.stores[index].glued & static_cast<uint8_t>(~before.units);
    }
    list.stores.erase(list.stores.begin() + index);
    each_view([&](View &view) {
        for (unsigned u = 0; u < list.units; u++) {
            uint8_t &position = view.positions()[list.first_slot + u];
            position = static_cast<uint8_t>(position - (position > index));
        }
    });
}

} // namespace prove
