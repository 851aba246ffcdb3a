#include "region/vcpu.h"

#include "core_models/make_core.h"
#include "isa/insn.h"
#include "output/failure.h"
#include "region/image.h"
#include "region/region.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

namespace lockcross {

namespace {

constexpr uint64_t kCheckEvery = 1 << 18; // instructions of a core between two looks at the clock

// Of all threads of this process.
uint64_t cpu_time_ms() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return uint64_t(time.tv_sec) * 1000 + uint64_t(time.tv_nsec) / 1'000'000;
}

std::string seconds(uint64_t ms) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", double(ms) / 1000);
    return text;
}

} // namespace

Vcpu::Vcpu(Region &region, uint32_t core_id, const Options &options, Memory &memory, Counts &counts)
    : core_id(core_id), core(make_core(options, core_id, memory, counts)), region_(region),
      counts_(counts) {}

void Vcpu::hand_over(const TimedInsn &insn) {
    place_ = {kEffectNames[size_t(insn.effect)], insn.block ? insn.block->function : nullptr,
              insn.pc};
    bool waits = !timer_word_ && interrupts_.empty() && !region_.options.execute_loops &&
                 spin_.repeats_at(insn);
    if (waits) {
        loop_ = spin_.iteration();
        waits = region_.wait_in_loop(core_id, loop_.front().address);
    }
    if (!waits) {
        region_.hand_over(core_id, access_cycle);
        spin_.watch();
    }
}

// It is taken to be at the address of the last one, since a loop tries again what has failed.
void Vcpu::take_for_reservation(const TimedInsn &insn) {
    core->take_for_reservation(insn, linked_address_);
    access_cycle = core->access_cycle(insn);
    latest_access = std::max(latest_access, access_cycle);
    if (int64_t(access_cycle) > turn_limit)
        hand_over(insn);
}

void Vcpu::run_iteration() {
    for (const SpinLoop::Step &step : loop_) {
        if (step.block) {
            core->begin_block(*step.block);
        } else if (step.size) {
            counts_.loads++;
            core->load(*step.insn, step.address, step.size);
        } else {
            core->fence(*step.insn);
        }
    }
    core->before_access(*loop_.front().insn);
    access_cycle = core->access_cycle(*loop_.front().insn);
}

void Vcpu::fence(const TimedInsn &insn) {
    resolve();
    if (spin_.watching())
        spin_.fence(insn);
    core->fence(insn);
}

void Vcpu::charge(const TimedInsn &insn) {
    resolve();
    spin_.forget();
    switch (insn.charge) {
    case Charge::Park:
        parked.park(region_.now(core_id));
        break;
    case Charge::Unpark:
        unparks_ = true;
        break;
    case Charge::Wake:
        core->charge(insn, parked.wake(region_.options, latest_access));
        return;
    case Charge::Barrier:
        core->barrier(insn, region_.interrupt_others(core_id, core->block_end()));
        return;
    default:
        break;
    }
    core->charge(insn);
}

void Vcpu::take_interrupts(Cycle now) {
    uint32_t due = 0;
    for (; !interrupts_.empty() && interrupts_.front() <= now; due++)
        interrupts_.pop_front();
    if (due)
        core->interrupt(due);
}

void Vcpu::check_limits(const Block &block) {
    place_ = {"block", block.function, block.pc};
    uint64_t allowed = region_.options.max_instructions, used = region_.instructions();
    if (allowed && used > allowed)
        region_.give_up(Exit::Limit, "instruction limit: " + std::to_string(allowed));
    uint64_t room = allowed ? (allowed - used) / region_.cores() : UINT64_MAX / 2;
    if (uint64_t cpu_ms = region_.options.max_cpu_ms) {
        // Whoever started this process ends it at the limit, and could not say where it was.
        if (cpu_time_ms() >= cpu_ms - cpu_ms / 50)
            region_.give_up(Exit::Limit, "CPU time limit: " + seconds(cpu_ms));
        room = std::min(room, kCheckEvery);
    }
    next_check_ = core->counts().instructions + room;
}

std::string Vcpu::where() const {
    if (!place_.what)
        return "not begun";
    char pc[32];
    std::snprintf(pc, sizeof pc, "0x%llx", static_cast<unsigned long long>(place_.pc));
    std::string text = std::string(place_.what) + " at " + pc;
    if (place_.function)
        text += std::string(" in ") + place_.function;
    if (counts_.reservations_lost)
        text += ", " + std::to_string(counts_.reservations_lost) + " of " +
                std::to_string(counts_.cas_won + counts_.cas_lost) +
                " store-conditionals lost their reservation";
    return text;
}

void Vcpu::set_timer(uint64_t word, Cycle cycles) {
    timer_word_ = cycles ? region_.image.host + word : nullptr;
    timer_end_ = region_.now(core_id) + cycles;
}

// The guest may be in the middle of changing the word, and undo this. So it is done at every block
// until the timer is set anew.
void Vcpu::clear_timer_word() {
    uint32_t value;
    std::memcpy(&value, timer_word_, sizeof value);
    if (value & 1) {
        value &= ~uint32_t(1);
        region_.poke(uint64_t(timer_word_ - region_.image.host), &value, sizeof value);
    }
}

// QEMU lets a store-conditional succeed when the value is the one that the load-linked saw, even if
// another core has written the line in between. Here the model's reservation decides: when it is
// lost, a byte that the load-linked did not see stands in memory during the store-conditional,
// which then fails as on a real core. No other thread runs meanwhile.
void Vcpu::before_store_conditional(const TimedInsn &insn) {
    pending_ = &insn;
    pending_accessed_ = false;
    pending_lost_ = core->reservation_lost(access_cycle);
    retried_ = pending_lost_ ? linked_ : nullptr;
    if (pending_lost_) {
        uint8_t &byte = region_.image.host[linked_address_];
        hidden_byte_ = std::exchange(byte, uint8_t(~linked_byte_));
    }
}

void Vcpu::restore_hidden_byte() {
    if (hidden_byte_)
        region_.image.host[linked_address_] = *hidden_byte_;
    hidden_byte_.reset();
}

void Vcpu::after_access(const TimedInsn &insn, uint64_t address, uint32_t size, bool is_store) {
    if (spin_.watching()) [[unlikely]] {
        if (insn.effect == Effect::Memory && !is_store && insn.pair_bytes == 0)
            spin_.load(insn, address, size);
        else
            spin_.forget();
    }
    switch (insn.effect) {
    case Effect::LoadLinked:
        linked_address_ = address;
        linked_byte_ = region_.image.host[address];
        linked_ = &insn;
        retried_ = nullptr;
        core->load_linked(insn, address, size);
        return;
    case Effect::StoreConditional:
    case Effect::Cas:
    case Effect::Rmw:
        restore_hidden_byte();
        pending_ = &insn;
        pending_address_ = address;
        pending_size_ = size;
        pending_accessed_ = true;
        return;
    default:
        break;
    }
    (is_store ? counts_.stores : counts_.loads)++;
    LineId line = LineId(address / region_.options.line);
    if (!is_store) {
        if (parked.is_parked())
            parked.look(line, access_cycle);
        core->load(insn, address, size);
        return;
    }
    // First, since the store may let other cores go on.
    std::memcpy(&region_.shadow[address], region_.image.host + address, size);
    core->store(insn, address, size);
    if (std::exchange(unparks_, false))
        core->end_unpark(region_.unpark(core_id, line, core->store_seen()));
}

void Vcpu::resolve_pending() {
    const TimedInsn &insn = *pending_;
    pending_ = nullptr;
    restore_hidden_byte();
    bool changed = false;
    if (pending_accessed_) {
        uint8_t *now = region_.image.host + pending_address_;
        uint8_t *before = &region_.shadow[pending_address_];
        changed = std::memcmp(now, before, pending_size_) != 0;
        std::memcpy(before, now, pending_size_);
    }
    if (insn.effect == Effect::StoreConditional) {
        core->store_conditional(insn, pending_address_, pending_size_, pending_accessed_, changed,
                                pending_lost_);
    } else if (insn.effect == Effect::Cas) {
        core->cas(insn, pending_address_, pending_size_, changed);
    } else {
        core->rmw(insn, pending_address_, pending_size_);
    }
}

} // namespace lockcross
