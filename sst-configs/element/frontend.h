// The SST component lockcross.frontend: the cores of a guest in QEMU, in front of SST's caches.
//
// Time: cycle c is from c to c + 1 periods. Caches work at its beginning; what they answer then is
// here a quarter later (the links' latency), and this component acts at half past. So all answers
// of a cycle are here before it acts, and what it asks for is there when the caches next work.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <sst/core/component.h>
#include <sst/core/event.h>
#include <sst/core/interfaces/stdMem.h>
#include <sst/core/link.h>
#include <sst/core/params.h>

#include "record.h"
#include "session.h"

namespace lockcross {

class Frontend : public SST::Component {
  public:
    SST_ELI_REGISTER_COMPONENT(Frontend, "lockcross", "frontend", SST_ELI_ELEMENT_VERSION(1, 0, 0),
                               "Cores simulated by a QEMU plugin, one for each memory interface",
                               COMPONENT_CATEGORY_PROCESSOR)

    SST_ELI_DOCUMENT_PARAMS(
        {"period", "picoseconds of a cycle, a multiple of 4"}, {"cores", "how many"},
        {"line", "bytes of a cache line"}, {"lat_l1", "cycles of a hit in an L1"},
        {"lat_miss", "cycles of a miss at least"}, {"lines", "that the memory has"},
        {"oldest_request", "cycles after which a request without an answer is a failure"},
        {"guest", "words of its command"}, {"guest0", "its first word, and so on: guest1, ..."},
        {"guest_stdout", "file for the guest's output"},
        {"guest_stderr", "file for the guest's errors"}, {"record", "file of what came of the run"})

    SST_ELI_DOCUMENT_STATISTICS(
        {"read_cycles", "from a read that the plugin waits for to its answer", "cycles", 1},
        {"write_cycles", "from a write to its answer", "cycles", 1},
        {"touches", "touches, by which lines in use stay in the L1", "count", 1},
        {"touches_missed", "of them, those that found their line gone from the L1", "count", 1})

    SST_ELI_DOCUMENT_SUBCOMPONENT_SLOTS({"memory", "a core's way to its L1, one for each core",
                                         "SST::Interfaces::StandardMem"})

    Frontend(SST::ComponentId_t id, SST::Params &params);

    void init(unsigned int phase) override;
    void setup() override;
    void finish() override;
    void emergencyShutdown() override;

  private:
    using Memory = SST::Interfaces::StandardMem;
    using Count = SST::Statistics::Statistic<uint64_t>;

    struct Core {
        Memory *memory;
        Count *read_cycles, *write_cycles, *touches, *touches_missed;
    };

    static SessionOptions session_options(SST::Params &params);
    void add_core(uint32_t number);
    void answered(Memory::Request *answer);
    void step(SST::Event *event);
    void step_in(uint64_t cycle);
    void watch(SST::Event *event);
    void make(const Request &request);
    void step_at(uint64_t cycle);
    void watch_at(uint64_t cycle);
    uint64_t now() const;                 // picoseconds
    uint64_t delay(uint64_t cycle) const; // until this component acts in that cycle
    Record record(const std::string &cause);
    void give_up(const Failure &failure);

    const SST::TimeConverter picosecond_;
    const uint64_t period_;
    const uint64_t line_;
    const uint64_t lat_l1_;
    const std::string record_path_;
    Session session_;
    SST::Output out_;
    SST::Link *steps_, *watches_;
    std::vector<Core> cores_;
    std::unordered_map<Memory::Request::id_t, Request> made_;
    std::set<uint64_t> scheduled_; // cycles that will be steps
    bool watching_ = false;
    bool over_ = false;
};

} // namespace lockcross
