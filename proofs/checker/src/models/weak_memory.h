// Memory of the weak models: histories of messages, and views.
//
// The machine is the one of Kang, Hur, Lahav, Vafeiadis, Dreyer, "A promising semantics for
// relaxed-memory concurrency" (POPL 2017, section 4: the full model) without its promises; weak.h
// says in what it differs. Its words are used: a store leaves a message, whose timestamp is its
// position in the history of its location; a view has a time map, the timestamps.
//
//   history of x    S0 ------- S1 ------- S2 ======= S3      timestamps, coherence order ---->
//   value           0          1          2          3       === adjacent: S3 is an update that
//   view            -          -          y: T1      y: T1       has read S2, nothing may come
//                              ^          ^                      between them
//                              cur of 0   cur of 1           a message carries the view that it
//                                                            passes on: S2 releases
//   history of y    T0 ------- T1
//                   ^          ^
//                   cur of 0   cur of 1
//
//   Thread 0 may read S1, S2 or S3, and T0 or T1. It may store to x between S1 and S2 or after S3.
//   With S2 it reads its view, T1: at once if the load acquires (cur), else at its next acquire
//   fence (acq).
//
//   views of a thread   rel <= cur <= acq   rel: passed on by its relaxed stores, what it had seen
//                                                at its last release fence
//                                           cur: what it has seen; passed on by releases
//                                           acq: what an acquire fence would add
//   view of all         fences              what the full fences so far have seen
//
// A history is of one unit or, under weak-si, of the units of a word that some access joins: their
// messages are in one order, and views say for each unit which is the oldest that may be read.
//
//   history of a word   S0 ------- S1 ------- S2      a load of both bytes reads at one point of
//   byte 0              0          1*         .       the order: S0 and S0, or S1 and S0, or S1 and
//   byte 1              0          .          1       S2. Thread 0, whose message S1 is still in
//                                                     its buffer (*), may read S1 and S0 at the
//                                                     point S0: it comes before another's wide
//                                                     store that is placed between S0 and S1.
//
// The hard steps: readable() and writable(), the choices; WeakMemory::insert(), which moves the
// timestamps of all views; full_fence(); races(); collect_garbage(), without which a waiting loop
// would have states without end; covers(), by which states are left out.
#pragma once

#include "client/program.h"
#include "models/history.h"
#include "models/saved_state.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace prove {

enum ViewOf { kCur, kAcq, kRel, kViews };

class WeakMemory {
  public:
    WeakMemory(const Program &program, unsigned threads, bool whole_accesses)
        : program_(program), threads_(threads), whole_accesses_(whole_accesses) {}

    // Takes the program's layout and its first memory.
    void begin();
    void save(std::vector<uint64_t> &words) const;
    void load(const uint64_t *words);

    // Of a saved state whose threads are at these nodes: all but the views and the messages that
    // are not the last. States may cover one another only within a class.
    Hash subsumption_class(std::span<const uint64_t> nodes, const uint64_t *words) const;
    // Whether, of two saved states, every thread may still read in `more` whatever it may read in
    // `less`, and knows no more of what has happened before.
    bool covers(const uint64_t *more, const uint64_t *less) const;
    // Every thread has seen everything.
    void see_all();

    // A unit of the layout in this memory.
    struct Location {
        static constexpr uint16_t kNone = 0xffff;
        uint16_t history = kNone; // kNone: it is private or all its accesses are plain: a cell
        uint8_t unit = 0;         // of the history
        uint16_t event = kNone;   // its first in views, if it could race
        bool mixed = false;       // has plain and atomic accesses

        bool is_cell() const { return history == kNone; }
    };
    const Location &location(size_t unit) const { return locations_[unit]; }

    // What a thread may still ask this memory for.
    struct FutureUses {
        uint64_t slots = 0;           // units of histories, a bit each
        std::vector<uint64_t> events; // of locations that could race, as in a view
        bool acquire_fence = false, full_fence = false;
        bool store = false; // that does not release

        bool is_nothing() const;
        bool has_all_of(const FutureUses &other) const;
        void add(const FutureUses &other);
    };
    FutureUses no_future_uses() const;
    FutureUses all_future_uses() const;
    // A thread accesses a unit.
    void add_unit(FutureUses &uses, size_t unit) const;

    History &history(size_t index) { return histories_[index]; }
    const History &history(size_t index) const { return histories_[index]; }
    uint64_t &cell(size_t word) { return cells_[word]; } // bytes of cells of that word
    uint64_t cell(size_t word) const { return cells_[word]; }
    void current(std::vector<uint64_t> &words) const; // the last messages

    View &view(unsigned thread, ViewOf which) { return views_[thread * kViews + which]; }
    const View &view(unsigned thread, ViewOf which) const {
        return views_[thread * kViews + which];
    }
    void join(View &into, const View &from) const;
    void copy_events(View &into, const View &from) const;
    View nothing() const; // the view of a message that passes nothing on

    // What a thread's access of these units of a history may read; `may_forward`: also its own
    // store that is still in its buffer.
    void readable(unsigned thread, const History &history, UnitSet units, bool may_forward,
                  std::vector<ReadsFrom> &found) const;
    // The timestamps that a thread's store to these units may take. It comes after the messages to
    // other units of the history, too, that its thread passes on with it: `passes` is kCur for a
    // store that releases, else kRel.
    void writable(unsigned thread, const History &history, UnitSet units, ViewOf passes,
                  std::vector<uint8_t> &timestamps) const;
    // The timestamps that an update that reads so may take.
    void writable_after(unsigned thread, const History &history, UnitSet units, ViewOf passes,
                        const ReadsFrom &read, std::vector<uint8_t> &timestamps) const;
    // Puts a message into a history; its thread sees it. `also` is moved along as all views are.
    void insert(unsigned thread, History &history, unsigned timestamp, const Message &message,
                std::vector<View> &also);
    // An access has read these messages together: nothing may come between them any more.
    static void make_adjacent(History &history, UnitSet units, const ReadsFrom &read);

    // A fence of sequential consistency.
    void full_fence(unsigned thread);

    // Notes an access that could race and returns whether it does.
    bool races(unsigned thread, const Location &location, bool plain, bool write);

    // Removes what no thread can notice, by its future uses. `interrupts`: others may make
    // it execute a fence even when it has ended, as the kernel does.
    void collect_garbage(const std::vector<const FutureUses *> &uses, bool interrupts);

  private:
    // The events of a location that could race. It has those of atomic accesses only if it is
    // mixed.
    struct Events {
        unsigned plain_store;   // its last
        unsigned plain_loads;   // each thread's last since
        unsigned atomic_stores; // each thread's last
        unsigned atomic_loads;
        unsigned end;
    };

    void make_locations();
    void make_history(size_t first, size_t end);
    void make_events(size_t unit);
    void make_first_messages();

    // Visits every field of a saved state: saved_state.h has the visitors.
    template <typename Memory, typename Visitor>
    static void each_field(Memory &memory, Visitor &visitor);
    ViewShape view_shape() const { return {slots_, timestamp_words_, view_words_}; }

    bool forwards(unsigned thread, const History &history, unsigned unit) const;
    bool reads_at(unsigned thread, const History &history, UnitSet units, bool may_forward,
                  ReadsFrom &read) const;

    Events events_of(const Location &location) const;
    bool knows(const View &view, unsigned event) const {
        return view.words[timestamp_words_ + event / 64] >> event % 64 & 1;
    }
    bool knows_all(const View &view, unsigned first) const;
    void forget_events(const Events &events);
    void note_event(unsigned thread, unsigned event);

    template <typename Do> void each_view(Do action);
    View seen_by_all(const std::vector<const FutureUses *> &uses) const;
    void forget(unsigned thread, const FutureUses &uses);
    void retire(unsigned thread);
    void prune(History &history, const View &seen);
    void remove(History &history, unsigned timestamp);

    const Program &program_;
    const unsigned threads_;
    const bool whole_accesses_;
    unsigned slots_ = 0, events_ = 0;
    unsigned timestamp_words_ = 0, view_words_ = 0;
    std::vector<Location> locations_;
    std::vector<History> histories_;
    std::vector<uint64_t> cells_;
    std::array<View, kMaxThreads * kViews> views_;
    View fences_; // what the full fences so far have seen
    // Slots whose thread's own store may still be in its buffer, a bit each.
    std::array<uint64_t, kMaxThreads> buffered_ = {};
};

} // namespace prove
