// The plugin's side of the link to a memory simulator.
#pragma once

#include "base/counts.h"
#include "base/options.h"
#include "link/link.h"
#include "link/memory_simulator.h"

#include <cstdint>
#include <vector>

namespace lockcross {

class LinkClient final : public MemorySimulator {
  public:
    // Maps the region behind the file descriptor and waits for the simulator. Ends the process
    // when the simulator does not fit the options, has failed, or is gone; here and below.
    LinkClient(int descriptor, uint32_t cores, const Options &options);

    std::vector<LinkAnswer> exchange(std::vector<LinkRequest> &requests, Cycle until) override;
    Cycle now() const override { return link_->now; }
    Cycle lat_l1() const override { return link_->lat_l1; }
    Cycle lat_miss() const override { return link_->lat_miss; }
    void finish() override;

  private:
    void pass_turn();
    void wait_for_turn();

    Link *link_;
    int parent_; // process that started this one: the simulator
};

} // namespace lockcross
