// Sequential consistency and total store order.
//
// SC: each access of shared memory is a step. TSO: a store enters its thread's buffer, first in,
// first out; a step of its own takes the oldest store to memory. A load takes each byte from the
// newest store of its own buffer that has it, else from memory; under kTsoWait it waits instead
// while the buffer holds a store that it overlaps but that does not cover it. Updates and full
// fences wait until the buffer is empty.
//
// At once, with the step before: plain accesses (they are free of races, or reported), accesses of
// private memory, stores into the buffer, and the drain of plain stores and of stores to private
// memory. A fence that another thread's process-wide barrier makes a thread execute may come
// between any two of its operations: in a program that has such barriers, each store into the
// buffer is a step, and the fence one of the thread that makes it, taken when the buffer is empty.
//
// Races: a plain access and another thread's access that conflict, next to each other in some
// interleaving. So it is enough to look at what each thread has accessed plainly since its last
// step, and at the atomic access that is its next.
#pragma once

#include "models/machine.h"

#include <array>

namespace prove {

class Interleaved final : public Machine {
  public:
    Interleaved(Program &program, unsigned threads, Model model, const Bounds &bounds);

    void begin() override;
    void load(const uint64_t *words, size_t count) override;
    void save(std::vector<uint64_t> &words) const override;
    void choices(std::vector<Choice> &choices) override;
    void take(Choice choice) override;
    bool ended() const override;

  private:
    struct Buffered {
        uint16_t word;
        uint8_t offset, size;
        bool at_once; // no other thread can tell when it drains
        bool atomic;
        uint64_t value;
        uint64_t return_address;
    };
    static constexpr unsigned kMostBuffered = 64;
    struct Buffer {
        unsigned count = 0;
        std::array<Buffered, kMostBuffered> stores;
    };

    void current(std::vector<uint64_t> &words) const override { words = memory_; }
    std::string detail(unsigned thread) const override;

    bool buffers() const { return model_ != Model::kSc; }
    uint64_t read(unsigned thread, const Extent &at) const;
    void write(const Extent &at, uint64_t value);
    bool must_wait(const Buffer &buffer, const Extent &at) const;

    void run(unsigned thread);
    bool run_one(unsigned thread, unsigned &waits);
    void do_plain(unsigned thread, const Node &node);
    void do_store(unsigned thread, const Node &node);
    void do_update(unsigned thread, const Node &node);
    void go_on(unsigned thread, uint64_t answer);
    void add_interrupts(unsigned thread, const Node &node, std::vector<Choice> &choices) const;
    bool store_is_a_step(unsigned thread, const Node &node) const;
    void drain_oldest(unsigned thread);
    void drain_at_once(unsigned thread);

    bool overlaps_next(unsigned other, const Extent &at, bool write) const;
    void check_plain(unsigned thread, const Node &node);
    void check_next(unsigned thread);
    uint64_t *reads_of(unsigned thread) { return &accessed_[2 * thread * mask_words_]; }
    uint64_t *writes_of(unsigned thread) { return reads_of(thread) + mask_words_; }
    bool accessed_plainly(unsigned thread) const;
    void forget_accesses(unsigned thread);

    const Model model_;
    const unsigned most_buffered_;
    size_t mask_words_ = 0;
    std::vector<uint64_t> accessed_; // by thread: plain reads, plain writes since its last step
    std::vector<uint64_t> memory_;
    std::array<Buffer, kMaxThreads> buffers_;
};

} // namespace prove
