// One vCPU of QEMU inside the region of interest: a thread of the guest, which plays one simulated
// core. The callbacks of its instructions come here.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "core/block.h"
#include "core/core.h"
#include "memory/memory.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace lockcross {

class Region;

class Vcpu {
  public:
    Vcpu(Region &region, uint32_t core_id, const Options &options, Memory &memory, Counts &counts);

    void begin_block(const Block &block) {
        resolve();
        core->begin_block(block);
        if (timer_word_ && core->block_end() >= timer_end_)
            clear_timer_word();
        if (core->counts().instructions > next_check_)
            check_instruction_limit();
    }
    // Before an access: waits for this core's turn.
    void wait_for_turn(const TimedInsn &insn) {
        resolve();
        core->before_access(insn);
        Cycle cycle = core->access_cycle(insn);
        if (int64_t(cycle) > turn_limit)
            hand_over(cycle);
    }
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

    // Exactly one of the host threads runs at a time; the others sleep until they are woken.
    void wake();
    void sleep();

    const uint32_t core_id;
    const std::unique_ptr<Core> core;
    int64_t turn_limit = 0; // last cycle of an access without handing over

  private:
    void resolve_pending();
    void undo_flip();
    void check_instruction_limit();
    void hand_over(Cycle cycle);
    void clear_timer_word();

    Region &region_;
    Counts &counts_;
    std::atomic<uint32_t> turn_{0}; // futex word: 1 when it is this vCPU's turn
    uint64_t next_check_ = 0;       // instructions at which the limit is checked again

    const TimedInsn *pending_ = nullptr; // the atomic operation to be accounted for
    uint64_t pending_address_ = 0;
    uint32_t pending_size_ = 0;
    bool pending_accessed_ = false;

    uint64_t linked_address_ = 0; // of the last load-linked
    bool flipped_ = false;        // see before_store_conditional

    uint8_t *timer_word_ = nullptr; // null: the timer is off
    Cycle timer_end_ = 0;
};

} // namespace lockcross
