#include "link/link_client.h"

#include "output/failure.h"

#include <algorithm>
#include <ctime>
#include <linux/futex.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lockcross {

namespace {

constexpr timespec kLookAround{0, 100'000'000}; // how long to sleep until the next look at the peer

Link *map(int descriptor) {
    void *memory = mmap(nullptr, sizeof(Link), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        fail(Exit::BadOptions, "option link: " + std::to_string(descriptor) +
                                   " is no region shared with a memory simulator");
    return static_cast<Link *>(memory);
}

} // namespace

LinkClient::LinkClient(int descriptor, uint32_t cores, const Options &options)
    : link_(map(descriptor)), parent_(getppid()) {
    if (link_->magic != kLinkMagic || link_->version != kLinkVersion) {
        fail(Exit::BadOptions, "the memory simulator speaks another version of the link, not " +
                                   std::to_string(kLinkVersion));
    }
    if (cores > link_->cores) {
        fail(Exit::BadOptions, "the program has " + std::to_string(cores) +
                                   " cores, the memory simulator " + std::to_string(link_->cores));
    }
    if (options.line != link_->line_bytes) {
        fail(Exit::BadOptions, "option line: " + std::to_string(options.line) +
                                   " bytes, but the memory simulator has lines of " +
                                   std::to_string(link_->line_bytes));
    }
    wait_for_turn();
}

void LinkClient::pass_turn() {
    link_->turn.store(Turn::Simulator, std::memory_order_release);
    syscall(SYS_futex, &link_->turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void LinkClient::wait_for_turn() {
    while (link_->turn.load(std::memory_order_acquire) != Turn::Plugin) {
        syscall(SYS_futex, &link_->turn, FUTEX_WAIT, Turn::Simulator, &kLookAround, nullptr, 0);
        if (link_->simulator.load(std::memory_order_acquire) == LinkState::Failed)
            break;
        if (getppid() != parent_)
            fail(Exit::Failure, "the memory simulator has died");
    }
    if (link_->simulator.load(std::memory_order_acquire) == LinkState::Failed)
        fail(Exit::Failure, std::string("the memory simulator has failed: ") + link_->failure);
}

std::vector<LinkAnswer> LinkClient::exchange(std::vector<LinkRequest> &requests, Cycle until) {
    size_t count = std::min<size_t>(requests.size(), kMostRequests);
    std::copy_n(requests.begin(), count, link_->request);
    requests.erase(requests.begin(), requests.begin() + ptrdiff_t(count));
    link_->requests = uint32_t(count);
    // The rest comes in the next turn, and time must not pass before.
    link_->until = requests.empty() ? until : link_->now;
    pass_turn();
    wait_for_turn();
    return {link_->answer, link_->answer + link_->answers};
}

void LinkClient::finish() {
    link_->plugin.store(LinkState::Done, std::memory_order_release);
    pass_turn();
}

} // namespace lockcross
