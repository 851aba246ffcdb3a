// One vCPU of QEMU inside the region of interest: a thread of the guest, which plays one simulated
// core. The callbacks of its instructions come here.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/core.h"
#include "memory/memory.h"
#include "region/parked_thread.h"
#include "region/spin_loop.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockcross {

class Region;

class Vcpu {
  public:
    Vcpu(Region &region, uint32_t core_id, const Options &options, Memory &memory, Counts &counts);

    void begin_block(const Block &block) {
        resolve();
        if (spin_.watching()) [[unlikely]]
            spin_.begin_block(block);
        Cycle begins = interrupts_.empty() ? 0 : core->block_end();
        core->begin_block(block);
        if (!interrupts_.empty()) [[unlikely]]
            take_interrupts(begins);
        if (timer_word_ && core->block_end() >= timer_end_)
            clear_timer_word();
        if (core->counts().instructions > next_check_) [[unlikely]]
            check_limits(block);
    }
    // Before an access: waits for this core's turn.
    void wait_for_turn(const TimedInsn &insn) {
        resolve();
        core->before_access(insn);
        access_cycle = core->access_cycle(insn);
        latest_access = std::max(latest_access, access_cycle);
        if (int64_t(access_cycle) > turn_limit)
            hand_over(insn);
        if (&insn == retried_) [[unlikely]]
            take_for_reservation(insn);
    }
    void fence(const TimedInsn &insn);
    void charge(const TimedInsn &insn);
    void before_store_conditional(const TimedInsn &insn);
    // After an access. The address counts from the start of the image; the size is in bytes.
    void after_access(const TimedInsn &insn, uint64_t address, uint32_t size, bool is_store);
    // Accounts for an atomic operation that is still pending: its outcome is known only after the
    // instruction.
    void resolve() {
        if (pending_)
            resolve_pending();
    }
    // Once `cycles` have passed, bit 0 of the 4-byte word at `word` is cleared whenever a block
    // begins. 0 cycles: never. The address counts from the start of the image.
    void set_timer(uint64_t word, Cycle cycles);

    const uint32_t core_id;
    const std::unique_ptr<Core> core;
    int64_t turn_limit = 0; // last cycle of an access without handing over
    Cycle access_cycle = 0; // of its last access, or the one that it waits for
    // The latest of its accesses so far: no core has one before that to make still. An access of an
    // out-of-order core may be earlier than one before it.
    Cycle latest_access = 0;
    ParkedThread parked;

    // Another core interrupts this one in that cycle: at the first block that begins then or later.
    // An access that it waits to make comes before that.
    void interrupt_at(Cycle cycle) { interrupts_.push_back(cycle); }

    // What the core is about to do, where, and what became of its store-conditionals.
    std::string where() const;

    // The core asked for something that no instruction shows.
    void forget_loop() { spin_.forget(); }
    // While the core waits in a loop, without a turn, the core model runs it, up to the first
    // access for which `goes_first` does not say that it comes before that of another core.
    template <typename GoesFirst> void run_loop(GoesFirst goes_first) {
        while (goes_first(access_cycle))
            run_iteration();
    }

  private:
    // From one access of the loop to the next.
    void run_iteration();
    void resolve_pending();
    void restore_hidden_byte();
    void check_limits(const Block &block);
    void hand_over(const TimedInsn &insn);
    void take_for_reservation(const TimedInsn &insn);
    void clear_timer_word();
    void take_interrupts(Cycle now);

    Region &region_;
    Counts &counts_;
    uint64_t next_check_ = 0; // instructions at which the limits are checked again
    struct Place {
        const char *what, *function;
        uint64_t pc;
    } place_{}; // where it waits, or where the limits were checked last

    const TimedInsn *pending_ = nullptr; // the atomic operation to be accounted for
    uint64_t pending_address_ = 0;
    uint32_t pending_size_ = 0;
    bool pending_accessed_ = false;
    bool pending_lost_ = false; // a store-conditional without reservation

    bool unparks_ = false; // its next store gives a permit

    SpinLoop spin_;
    std::vector<SpinLoop::Step> loop_; // that the core waits in, from its load on

    uint64_t linked_address_ = 0;        // of the last load-linked
    uint8_t linked_byte_ = 0;            // what it saw there
    const TimedInsn *linked_ = nullptr;  // it itself
    const TimedInsn *retried_ = nullptr; // the same, if its store-conditional had no reservation
    // What stands at its address, while another byte takes its place (before_store_conditional).
    std::optional<uint8_t> hidden_byte_;

    std::deque<Cycle> interrupts_; // that are not taken yet

    uint8_t *timer_word_ = nullptr; // null: the timer is off
    Cycle timer_end_ = 0;
};

} // namespace lockcross
