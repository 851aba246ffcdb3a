// The simulator's side of the region of memory that it shares with the plugin (link/link.h).
#pragma once

#include <string>

#include "guest.h"
#include "link/link.h"

namespace lockcross {

class LinkServer {
  public:
    // Makes the region. Throws Failure.
    LinkServer(uint32_t cores, uint32_t line_bytes, uint32_t lat_l1, uint32_t lat_miss);
    LinkServer(const LinkServer &) = delete;
    LinkServer &operator=(const LinkServer &) = delete;
    ~LinkServer();

    int descriptor() const { return descriptor_; }
    Link &link() { return *link_; }

    // Sleeps until it is the simulator's turn. Throws Failure if the guest ends before.
    void wait_for_turn(Guest &guest);

    // Ends the simulator's turn and wakes the plugin.
    void pass_turn();

    // Says why the simulation fails, for a plugin that still listens, and ends the turn.
    void fail(const std::string &cause);

  private:
    int descriptor_ = -1;
    Link *link_ = nullptr;
};

} // namespace lockcross
