// The instruction window of an out-of-order core: micro-operations enter it in order, execute when
// their operands and a port are there, and retire in order.
//
// Clock: as in the other core models, micro-operations come one after another, and the cycles of
// each follow from those of the ones before; nothing is simulated cycle by cycle. An older
// micro-operation takes its port first, so where two want one, the older one has it.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "base/ring.h"
#include "core/slots.h"
#include "core_models/out_of_order/scheduler_queue.h"
#include "isa/micro_ops.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockcross {

// What executes micro-operations: so many a cycle of each kind.
enum class Port : uint8_t { Simple, Multiply, Load, Store, Count };

class Window {
  public:
    explicit Window(const Options &options);

    void start_at(Cycle cycle);

    // The next micro-operation is fetched and enters the window, not before `room`. Returns the
    // first cycle in which it can execute as far as its operands go, where nothing does before
    // `from`.
    Cycle enter(const MicroOp &op, Cycle from, Cycle room = 0);
    // Takes the first free port of that kind from `earliest` on; returns its cycle.
    Cycle issue(Port port, Cycle earliest);
    // The micro-operation that entered last has its result at `result` and is done at `done`.
    // Returns when it retires.
    Cycle finish(const MicroOp &op, Cycle result, Cycle done);

    // Fetch goes on elsewhere: after a taken branch that was predicted, `cycles` later beside;
    // after one that was mispredicted and executed at `resolved`.
    void redirect(Cycle cycles);
    void refetch(Cycle resolved);

    // When the micro-operation that entered last is the oldest one.
    Cycle oldest() const { return retired_at_; }
    // When it entered.
    Cycle entered() const { return entered_.cycle(); }

    // A miss of the L1 that begins at `start` and takes so long. Returns by how much it is delayed
    // because all miss buffers are in use.
    Cycle miss(Cycle start, Cycle latency);

  private:
    static constexpr size_t kRegisters = 64;
    static constexpr size_t kPortCycles = 4096; // for which ports are booked
    struct Booking {
        uint32_t round = 0; // of the table: which of the cycles that have this place
        std::array<uint8_t, size_t(Port::Count)> used{};
    };
    struct Busy { // cycles in which all ports of a kind are taken
        Cycle from = 0, until = 0;
    };

    uint32_t ports(Port port) const;
    Cycle operands_at(RegisterSet reads, Cycle entered) const;
    // Brings those registers up to date that a stack engine keeps count of.
    void settle(RegisterSet registers);
    // Fetch goes to another line of code.
    void fetch_line(const MicroOp &op);
    // Of entries that are left in any order: one that is free at `from`, else the next that will
    // be. Looks at the oldest first.
    static Cycle &free_entry(Ring<Cycle> &entries, Cycle from);

    const Options &options_;
    Slots fetched_, entered_, retired_;
    Cycle fetch_from_ = 0; // no fetch before
    Cycle redirected_ = 0; // when fetch last followed a taken branch
    uint32_t taken_ = 0;   // how many in that cycle
    Cycle enter_from_ = 0; // nothing enters before
    Cycle updated_at_ = 0; // when the base register is there that the last one to enter updates
    Cycle retired_at_ = 0; // when the last one that finished retired
    uint64_t fetched_line_ = 0;
    Ring<Cycle> rob_;                       // when the last entries retired: then theirs are free
    SchedulerQueue scheduler_;              // what waits for operands
    Ring<Cycle> load_queue_, miss_buffers_; // when they were free again
    Ring<Cycle> taken_branches_;            // when the last ones in the entries of those retired
    std::vector<Booking> bookings_;
    std::array<Busy, size_t(Port::Count)> busy_{}; // found last: many would look there again
    std::array<Cycle, kRegisters> ready_{};        // of each register: when its value is there
    RegisterSet counted_ = 0;                      // those that a stack engine has changed since
};

} // namespace lockcross
