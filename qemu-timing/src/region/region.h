// The region of interest while it runs: the simulated cores, their memory, and whose turn it is.
//
// Every thread of the guest is a core, and exactly one of them runs at a time: the one whose next
// memory access has the smallest (cycle, core number). A core stops before an access that lies
// beyond its limit, hands the turn over, and waits until its own comes (host_threads.h). So QEMU
// performs the accesses in simulated-time order, whatever the host does.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "base/zeroed.h"
#include "memory/linked_memory.h"
#include "memory/memory.h"
#include "output/failure.h"
#include "output/report.h"
#include "region/host_threads.h"
#include "region/image.h"
#include "region/turn_order.h"
#include "region/vcpu.h"
#include "region/watchdog.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockcross {

class Region final : public Sleepers, public Watcher {
  public:
    Region(const Options &options, Image image, uint32_t cores, std::string isa);

    Vcpu &vcpu(uint32_t core) { return *vcpus_[core]; }
    uint32_t cores() const { return uint32_t(vcpus_.size()); }
    uint64_t instructions() const; // of all cores

    void start();
    // The core's thread comes into the region, which has started; returns when the core has its
    // first turn.
    void enter(uint32_t core) { threads_->enter(core, first_); }
    // The core leaves the region; returns whether it is the last one.
    bool finish(uint32_t core);
    void mark_phase(uint32_t core, uint64_t phase);
    // The core's simulated time; correct only at the end of a block.
    Cycle now(uint32_t core);
    // The core's next access is at that cycle; returns when it is its turn.
    void hand_over(uint32_t core, Cycle cycle);
    void sleep_until_answered(uint32_t core) override;
    void go_on_at(uint32_t core, Cycle cycle) override { order_.go_on_at(core, cycle); }
    // The core waits in a loop whose load is next; returns when it is its turn and the line is
    // lost. False, at once, if it has no copy of the line.
    bool wait_in_loop(uint32_t core, uint64_t address);
    void before_loss(uint32_t core) override;
    // A store of the core to that line gives a permit, which others can see from then on. Returns
    // how the thread sleeps that waits for it.
    Sleep unpark(uint32_t core, LineId line, Cycle seen);
    // Interrupts every other core that runs a thread: not one that has left, nor one whose thread
    // is parked. Returns how many.
    uint32_t interrupt_others(uint32_t core, Cycle now);
    // Writes to the guest's memory, in no time. The address counts from the start of the image.
    void poke(uint64_t address, const void *bytes, size_t size);
    // A limit is reached, or the run cannot go on: ends the process, with the report as it is and
    // a message that says where each core is.
    [[noreturn]] void give_up(Exit code, const std::string &why);
    // Writes the report to options.out. Ends the process when it cannot, and when the stalls of a
    // core do not add up to its cycles.
    void write_report(bool complete);

    const Options &options;
    const Image image;
    Zeroed<uint8_t> shadow; // the image as of the last access: shows what an atomic changed

  private:
    // The core whose turn it is, with its limit set. Memory's own time passes until then.
    uint32_t next_turn();
    // The last cycle at which the core may make an access without handing over.
    int64_t turn_limit(uint32_t core) const;
    // The core whose turn it is goes on; this one waits if it is another one.
    void pass_turn(uint32_t core);
    void end_standing_still();

    std::vector<Counts> counts_;
    std::unique_ptr<Memory> memory_;
    TurnOrder order_;
    uint32_t first_ = 0, running_ = 0; // the core with the first turn; the one whose turn it is
    std::unique_ptr<HostThreads> threads_;
    std::vector<std::unique_ptr<Vcpu>> vcpus_;
    std::vector<Cycle> cycles_; // of each core
    Report report_;
    std::optional<Watchdog> watchdog_;
};

} // namespace lockcross
