// The weak models: C11's as RC11 has it, by an operational machine with views (weak_memory.h draws
// its state).
//
// The machine is the promising semantics of Kang, Hur, Lahav, Vafeiadis, Dreyer (POPL 2017, section
// 4: the full model) without promises: thread views cur, acq and rel, stores that carry views,
// updates next to the store that they read, one view of all full fences. That promise-free part,
// with a detector of races, is ORC11 (Dang, Jourdan, Kaiser, Dreyer, "RustBelt meets relaxed
// memory", POPL 2020). Here it differs in this:
//
//   promises              none, and nothing is certified: threads run in program order, so no load
//                         reads a store that comes after it in its own thread or through others (no
//                         load buffering). That is RC11's: program order and reads-from have no
//                         circle (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017, section 3)
//   timestamps            positions in a history, which move when a message is put in between, not
//                         rational numbers; `adjacent` instead of a message's interval that begins
//                         where the one before ends
//   rel                   one view, not one for each location: a release store leaves nothing for
//                         later relaxed stores of its thread, so updates alone continue a release
//                         sequence (C++20, P0982)
//   plain accesses        a race is a failure, as in ORC11, so they need no view of their own; what
//                         could race is noted by events in views, which are ORC11's sets of plain
//                         and atomic, reads and writes: one bit for each thread's last, since who
//                         knows a thread's last event knows those before it
//   accesses that are     a full fence and then the access (client/calls.cc); POPL 2017 has none,
//   sequentially          and RC11 asks for less
//   consistent
//   a CAS that fails      a load of its failure order; a CAS does not fail for no reason
//   sizes                 POPL 2017 has locations alone. Each unit of an access is one: an access
//                         of several units is one access of each, unordered (kWeak)
//   whole accesses        kWeakSi is our own: the bytes of an access are together (single-copy
//                         atomicity), as Alglave, Deacon, Grisenthwaite, Hacquard, Maranget, "Armed
//                         cats" (TOPLAS 43(2), 2021) has it for AArch64. A load finds, of the units
//                         that accesses join, the stores up to one point of their order, save for
//                         its own stores that may still be in its buffer
//   finitely many states  stores that nobody can read any more are removed: those older than what
//                         every thread has seen that may still access the location. Which threads
//                         may is read off the client's automaton (look_ahead()); of a node that was
//                         not known then, every use is taken to be possible
//
// A step: a load, an update or a full fence. At once, with the step before: plain accesses, private
// memory, other fences, and stores: a store that comes before another thread's load leaves it every
// choice that it had, and stores of different threads find the same places in either order. Where a
// store may take several timestamps, it is the only step that is explored. A full fence that
// another thread's process-wide barrier makes a thread execute may come between any two of its
// operations, and what it passes on depends on the stores before it: in a program that has such
// barriers each store is a step like others.
#pragma once

#include "models/machine.h"
#include "models/weak_memory.h"

namespace prove {

class Weak final : public Machine {
  public:
    Weak(Program &program, unsigned threads, Model model)
        : Machine(program, threads), memory_(program, threads, model == Model::kWeakSi) {}

    void begin() override;
    void load(const uint64_t *words, size_t count) override;
    void save(std::vector<uint64_t> &words) const override;
    void choices(std::vector<Choice> &choices) override;
    void take(Choice choice) override;
    void look_ahead() override;
    bool has_subsumption() const override { return true; }
    Hash subsumption_class(const std::vector<uint64_t> &words) const override {
        return memory_.subsumption_class({words.data(), threads_}, words.data() + threads_);
    }
    bool covers(const std::vector<uint64_t> &more,
                const std::vector<uint64_t> &less) const override;
    void see_all() override { memory_.see_all(); }
    bool looked_wrong() const override { return looked_wrong_; }
    bool should_look_ahead() const override { return future_uses_.empty() || looked_wrong_; }
    bool ended() const override;

  private:
    static constexpr unsigned kMostParts = 8;

    // What an access does in one history.
    struct Part {
        uint16_t history;
        UnitSet units;
    };
    // One way to do an access.
    struct Option {
        uint64_t value = 0; // read
        bool writes = false;
        std::array<ReadsFrom, kMostParts> reads_from; // by part
        std::array<uint8_t, kMostParts> timestamps;   // by part: of the store
    };

    void current(std::vector<uint64_t> &words) const override { memory_.current(words); }
    std::string detail(unsigned) const override { return detail_; }

    const WeakMemory::FutureUses &future_uses(NodeId id) const {
        return id < future_uses_.size() ? future_uses_[id] : all_future_uses_;
    }
    void begin_memory();
    WeakMemory::FutureUses uses_of(const Node &node) const;
    void collect_garbage();

    void go_on(unsigned thread, uint64_t answer);
    void run(unsigned thread);
    bool run_one(unsigned thread, unsigned &waits);

    template <typename Visit> void each_unit(const Extent &at, Visit visit) const;
    void find_parts(const Node &node);
    uint64_t value_of(const Node &node, const Option &option) const;
    void write_cells(const Node &node, uint64_t value);
    void find_options(unsigned thread, const Node &node);
    void add_reads(unsigned thread, const Node &node, unsigned part, Option &option);
    void add_timestamps(unsigned thread, const Node &node, unsigned part, Option &option);
    Option newest() const;
    void do_access(unsigned thread, const Node &node, const Option &option);
    void do_reads(unsigned thread, const Option &option, Order order);
    void do_writes(unsigned thread, const Node &node, const Option &option, uint64_t value);
    void do_plain(unsigned thread, const Node &node);
    void do_fence(unsigned thread, const Node &node);
    bool check_races(unsigned thread, const Node &node, bool writes);
    void describe(const Node &node, const Option &option);

    WeakMemory memory_;
    std::vector<WeakMemory::FutureUses> future_uses_; // by node known at the last look
    WeakMemory::FutureUses all_future_uses_, no_future_uses_;
    bool looked_wrong_ = false;
    std::vector<const WeakMemory::FutureUses *> future_uses_of_threads_;
    std::vector<Part> parts_;
    std::vector<Option> options_;
    std::vector<View> passed_on_; // by the messages that an update has read, by part; last its own
    std::string detail_;
};

} // namespace prove
