#include "session.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockcross {
namespace {

constexpr int kTimeToEnd = 10'000; // milliseconds, of a guest that is done

std::string describe(const LinkRequest &request) {
    static const char *const kKinds[] = {"read", "write", "touch", "touching write"};
    return std::string(kKinds[static_cast<size_t>(request.kind)]) + " of line " +
           std::to_string(request.line) + " by core " + std::to_string(request.core) +
           " in cycle " + std::to_string(request.cycle);
}

} // namespace

Session::Session(SessionOptions options)
    : options_(std::move(options)),
      server_(options_.cores, options_.line_bytes, options_.lat_l1, options_.lat_miss) {}

void Session::start() {
    guest_.start(options_.guest, server_.descriptor(), options_.guest_output,
                 options_.guest_errors);
}

std::vector<Request> Session::due(uint64_t cycle) {
    const auto found = planned_.find(cycle);
    if (found == planned_.end())
        return {};
    std::vector<LinkRequest> asked = std::move(found->second);
    planned_.erase(found);
    std::stable_sort(asked.begin(), asked.end(),
                     [](const auto &a, const auto &b) { return a.core < b.core; });
    std::vector<Request> result;
    for (const LinkRequest &one : asked) {
        const bool touch = is_touch(one);
        result.push_back({one, requests_ + touches_});
        ++(touch ? touches_ : requests_);
        open_.insert(result.back().number);
        made_.push_back(result.back());
    }
    return result;
}

void Session::answer(const Request &request, uint64_t cycle) {
    last_answer_ = cycle;
    open_.erase(request.number);
    while (!made_.empty() && open_.count(made_.front().number) == 0)
        made_.pop_front();
    if (!is_touch(request.asked))
        answers_.push_back({request.asked.id, cycle});
}

bool Session::exchange(uint64_t cycle) {
    Link &link = server_.link();
    hand_over(cycle);
    server_.wait_for_turn(guest_);
    ++turns_;
    if (link.plugin == LinkState::Failed)
        throw Failure(ExitCode::Guest,
                      "the plugin failed: " +
                          std::string(link.failure, strnlen(link.failure, sizeof link.failure)));
    if (link.plugin == LinkState::Done) {
        end();
        return false;
    }
    take(cycle);
    if (until_ == kNoLimit && answers_.empty() && open_.empty() && planned_.empty())
        throw Failure(ExitCode::Deadlock, "deadlock: in cycle " + std::to_string(cycle) +
                                              " every core waits, and no request is open");
    return true;
}

void Session::hand_over(uint64_t cycle) {
    if (std::exchange(first_turn_, false))
        return; // it is the plugin's already
    Link &link = server_.link();
    const size_t count = std::min<size_t>(answers_.size(), kMostRequests);
    std::copy_n(answers_.begin(), count, link.answer);
    answers_.erase(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(count));
    link.answers = static_cast<uint32_t>(count);
    link.now = cycle;
    server_.pass_turn();
}

void Session::take(uint64_t cycle) {
    const Link &link = server_.link();
    until_ = link.until;
    if (link.requests > kMostRequests)
        throw Failure(ExitCode::Link, std::to_string(link.requests) + " requests in one turn");
    for (uint32_t n = 0; n < link.requests; ++n) {
        check(link.request[n], cycle);
        planned_[link.request[n].cycle].push_back(link.request[n]);
    }
}

void Session::check(const LinkRequest &request, uint64_t cycle) const {
    if (request.kind > RequestKind::TouchWrite)
        throw Failure(ExitCode::Link, "a request of no known kind");
    if (request.core >= options_.cores)
        throw Failure(ExitCode::Link, describe(request) + ": there are " +
                                          std::to_string(options_.cores) + " cores");
    if (request.line >= options_.lines)
        throw Failure(ExitCode::Link, describe(request) + ": the memory has " +
                                          std::to_string(options_.lines) + " lines");
    if (request.cycle < cycle)
        throw Failure(ExitCode::Link,
                      describe(request) + ": it is cycle " + std::to_string(cycle) + " already");
}

uint64_t Session::next_step() const {
    return planned_.empty() ? until_ : std::min(until_, planned_.begin()->first);
}

uint64_t Session::check_age(uint64_t cycle) {
    if (made_.empty())
        return kNoLimit;
    const LinkRequest &oldest = made_.front().asked;
    const uint64_t limit = oldest.cycle + options_.oldest_request;
    if (cycle < limit)
        return limit;
    const std::string which = describe(oldest) + " has no answer in cycle " + std::to_string(cycle);
    if (last_answer_ <= oldest.cycle)
        throw Failure(ExitCode::Deadlock,
                      "deadlock in the memory system: " + which + ", nor has any after it");
    throw Failure(ExitCode::Hang, "hang: " + which + ", while others are answered");
}

void Session::end() {
    if (!guest_.has_ended(kTimeToEnd)) {
        guest_.kill();
        throw Failure(ExitCode::Guest, "the guest did not end though its plugin was done");
    }
}

void Session::fail(const std::string &cause) {
    server_.fail(cause);
    guest_.kill();
}

} // namespace lockcross
