// A simulation as the plugin sees it: which requests are to be made when, which are open, whose
// turn it is. It knows no SST; its owner lets time pass and makes the requests.
//
// Every cycle in which something can happen is a step: the owner makes the requests that are
// `due` and, while it `must_exchange`, hands over by `exchange` and makes what that brought.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "failure.h"
#include "guest.h"
#include "link_server.h"

namespace lockcross {

struct SessionOptions {
    uint32_t cores, line_bytes, lat_l1, lat_miss;
    uint64_t lines;          // that the memory has
    uint64_t oldest_request; // cycles
    std::vector<std::string> guest;
    std::string guest_output, guest_errors;
};

// A request that the memory has, or will get.
struct Request {
    LinkRequest asked;
    uint64_t number; // from 0, in the order in which they are made
};

class Session {
  public:
    explicit Session(SessionOptions options);

    void start(); // the guest

    // Takes the requests of this cycle, in the order of their cores. They are open then.
    std::vector<Request> due(uint64_t cycle);

    // The memory has answered. Touches too.
    void answer(const Request &request, uint64_t cycle);

    bool must_exchange(uint64_t cycle) const { return !answers_.empty() || until_ <= cycle; }

    // The plugin's turn. False: it is done, and the guest has ended. Throws Failure.
    bool exchange(uint64_t cycle);

    // The next cycle that is a step without an answer, or kNoLimit.
    uint64_t next_step() const;

    // When the oldest open request is too old, or kNoLimit. Throws Failure if it is by `cycle`.
    uint64_t check_age(uint64_t cycle);

    // Ends everything: tells the plugin why and kills the guest.
    void fail(const std::string &cause);

    uint64_t requests() const { return requests_; }
    uint64_t touches() const { return touches_; }
    uint64_t turns() const { return turns_; }
    size_t open() const { return open_.size(); }
    bool guest_ended() { return guest_.has_ended(); }
    int guest_exit() const { return guest_.exit_code(); }

  private:
    void hand_over(uint64_t cycle);
    void take(uint64_t cycle);
    void check(const LinkRequest &request, uint64_t cycle) const;
    void end();

    const SessionOptions options_;
    LinkServer server_;
    Guest guest_;
    bool first_turn_ = true;
    uint64_t until_ = 0;
    std::map<uint64_t, std::vector<LinkRequest>> planned_; // by cycle
    std::vector<LinkAnswer> answers_;                      // that the plugin does not have yet
    std::deque<Request> made_;          // in order; answered ones at the front go
    std::unordered_set<uint64_t> open_; // numbers
    uint64_t last_answer_ = 0;          // its cycle
    uint64_t requests_ = 0, touches_ = 0, turns_ = 0;
};

} // namespace lockcross
