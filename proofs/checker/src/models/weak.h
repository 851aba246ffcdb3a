// The weak models: C11's as RC11 has it, by an operational machine with views (weak_memory.h).
//
// Each load reads any store that its thread's view allows; each store goes anywhere in coherence
// order behind what its thread has seen. Threads run in program order, so no load reads a store
// that comes after it in its own thread or through others (no load buffering), as in RC11.
//
// kWeak: each byte has its own stores, and an access of several bytes is one of each. kWeakSi: the
// bytes of an access are together (single-copy atomicity): a load finds, of the places that
// accesses join, the stores up to one point of their order, save for its own stores that may still
// be in its buffer.
//
// A step: a load, an update or a full fence. At once, with the step before: plain accesses, private
// memory, other fences, and stores: a store that comes before another thread's load leaves it every
// choice that it had, and stores of different threads find the same places in either order. Where a
// store may go to several places, it is the only step that is explored.
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
    bool ended() const override;

  private:
    static constexpr unsigned kMostParts = 8;

    // What an access does in one list.
    struct Part {
        uint16_t list;
        uint8_t units; // of the list, a bit each
    };
    // One way to do an access.
    struct Option {
        uint64_t value = 0; // read
        bool writes = false;
        std::array<Cut, kMostParts> cuts;        // by part
        std::array<uint8_t, kMostParts> indices; // by part: where the store goes
    };

    uint64_t current(size_t word) const override { return memory_.current(word); }
    std::string detail(unsigned) const override { return detail_; }

    void go_on(unsigned thread, uint64_t answer);
    void run(unsigned thread);
    bool run_one(unsigned thread, unsigned &waits);

    void find_parts(const Node &node);
    uint64_t value_in_cells(const Node &node) const;
    uint64_t value_of(const Node &node, const Option &option) const;
    void write_cells(const Node &node, uint64_t value);
    void find_options(unsigned thread, const Node &node);
    void add_cuts(unsigned thread, const Node &node, unsigned part, Option &option);
    void add_indices(unsigned thread, const Node &node, unsigned part, Option &option);
    void do_access(unsigned thread, const Node &node, const Option &option);
    void do_reads(unsigned thread, const Option &option, Order order);
    void do_writes(unsigned thread, const Node &node, const Option &option, uint64_t value);
    void do_plain(unsigned thread, const Node &node);
    void do_fence(unsigned thread, const Node &node);
    bool check_races(unsigned thread, const Node &node, bool writes);
    void describe(const Node &node, const Option &option);

    WeakMemory memory_;
    std::vector<Part> parts_;
    std::vector<Option> options_;
    std::vector<View> passed_on_; // by the stores that an update has read, by part
    std::string detail_;
};

} // namespace prove
