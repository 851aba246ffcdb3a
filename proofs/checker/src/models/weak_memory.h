// Memory of the weak models: for each place the stores in coherence order, and views.
//
// A list is the stores to one unit or, if the bytes of an access go together (weak-si), to the
// units that some access joins; its stores are in one order. A view says for each unit the oldest
// store that may still be read, and for each kind of access that could race whether it is known to
// have happened before. A thread has three: what it has seen (cur), what an acquire fence would
// add (acq), and what a relaxed store passes on (rel: what it had seen at its last release fence).
// A store carries the view that it passes on to who reads it and acquires.
#pragma once

#include "client/program.h"

#include <array>
#include <cstdint>
#include <vector>

namespace prove {

// A view: positions of units in their lists, a byte each, then what is known, a bit each.
struct View {
    static constexpr unsigned kMostWords = 40;
    std::array<uint64_t, kMostWords> words;

    uint8_t *positions() { return reinterpret_cast<uint8_t *>(words.data()); }
    const uint8_t *positions() const { return reinterpret_cast<const uint8_t *>(words.data()); }
};

struct Store {
    uint64_t value = 0; // where it is in its word
    uint8_t units = 0;  // of the list, a bit each: those that it writes
    // For these units no store may come between the one before and this one: this one is an update
    // that has read that one, or an access has read that one and this one together.
    uint8_t glued = 0;
    uint8_t writer = 0; // thread + 1; 0 where nobody asks
    View view;
};

struct List {
    uint16_t word = 0;
    uint16_t first_slot = 0; // in views, of its first unit
    uint8_t units = 0;       // how many
    std::vector<Store> stores;
};

// Which store each unit of an access reads.
struct Cut {
    uint8_t at = 0;        // the youngest that does not come from the thread's own store buffer
    uint8_t forwarded = 0; // units that do
    std::array<uint8_t, 8> index = {};
};

enum ViewOf { kCur, kAcq, kRel, kViews };

class WeakMemory {
  public:
    WeakMemory(const Program &program, unsigned threads, bool whole_accesses)
        : program_(program), threads_(threads), whole_accesses_(whole_accesses) {}

    // Takes the program's layout and its first memory.
    void begin();
    size_t save(std::vector<uint64_t> &words) const;
    const uint64_t *load(const uint64_t *words);

    // A unit of the layout in this memory.
    struct Place {
        static constexpr uint16_t kNone = 0xffff;
        uint16_t list = kNone;   // kNone: it is private or all its accesses are plain: a cell
        uint8_t bit = 0;         // in the list
        uint16_t slot = 0;       // in views
        uint16_t column = kNone; // of what is known, if it could race
        bool mixed = false;      // has plain and atomic accesses
    };
    const Place &place(size_t unit) const { return places_[unit]; }
    List &list(size_t index) { return lists_[index]; }
    const List &list(size_t index) const { return lists_[index]; }
    uint64_t &cell(size_t word) { return cells_[word]; } // bytes of cells of that word
    uint64_t current(size_t word) const;                 // the last stores

    View &view(unsigned thread, ViewOf which) { return views_[thread * kViews + which]; }
    const View &view(unsigned thread, ViewOf which) const {
        return views_[thread * kViews + which];
    }
    void join(View &into, const View &from) const;
    void copy_known(View &into, const View &from) const;
    View nothing() const; // the view of a store that passes nothing on

    // The cuts that a thread's access of these units of a list may read.
    void readable(unsigned thread, unsigned list, uint8_t units, bool may_forward,
                  std::vector<Cut> &cuts) const;
    // Where a thread's store to these units may come in the list. It comes behind the stores to
    // other units of the list, too, that its thread passes on with it: `passes` is kCur for a store
    // that releases, else kRel.
    void insertable(unsigned thread, unsigned list, uint8_t units, ViewOf passes,
                    std::vector<uint8_t> &indices) const;
    // Where an update that reads this cut may come.
    void insertable_behind(unsigned thread, unsigned list, uint8_t units, ViewOf passes,
                           const Cut &cut, std::vector<uint8_t> &indices) const;
    // Puts a store into a list; its thread sees it. `also` is moved along as all views are.
    void insert(unsigned thread, unsigned list, unsigned index, const Store &store,
                std::vector<View> &also);
    // An access has read this cut: nothing may come between its stores any more.
    void glue(unsigned list, uint8_t units, const Cut &cut);

    // A fence of sequential consistency.
    void full_fence(unsigned thread);

    // Notes an access that could race and returns whether it does.
    bool races(unsigned thread, const Place &place, bool plain, bool write);

    // Removes what no thread can notice; `ended` has a bit for each thread that does nothing more.
    void tidy(unsigned ended);

  private:
    bool may_insert(const List &list, uint8_t units, unsigned index) const;
    static unsigned youngest(const View &view, const List &list, uint8_t units);
    bool forwards(unsigned thread, const List &list, unsigned unit) const;
    void make_places();
    void make_lists();
    void note_event(unsigned thread, unsigned column);
    template <typename Do> void each_view(Do action);
    void tidy_list(List &list, const std::vector<uint8_t> &oldest);
    void remove(List &list, unsigned index);

    bool knows(const View &view, unsigned column) const {
        return view.words[position_words_ + column / 64] >> column % 64 & 1;
    }

    const Program &program_;
    const unsigned threads_;
    const bool whole_accesses_;
    unsigned slots_ = 0, columns_ = 0;
    unsigned position_words_ = 0, view_words_ = 0;
    std::vector<Place> places_;
    std::vector<List> lists_;
    std::vector<uint64_t> cells_;
    std::array<View, kMaxThreads * kViews> views_;
    View fences_; // what the full fences so far have seen
    // Slots whose thread's own store may still be in its buffer, a bit each.
    std::array<uint64_t, kMaxThreads> buffered_ = {};
};

} // namespace prove
