#include "link_server.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"

namespace lockcross {
namespace {

constexpr timespec kPatience{0, 100'000'000}; // after which to look whether the guest is there

} // namespace

LinkServer::LinkServer(uint32_t cores, uint32_t line_bytes, uint32_t lat_l1, uint32_t lat_miss) {
    descriptor_ = memfd_create("lockcross", MFD_CLOEXEC);
    if (descriptor_ < 0 || ftruncate(descriptor_, sizeof(Link)) != 0)
        throw Failure(ExitCode::Link, std::string("no shared memory: ") + std::strerror(errno));
    void *memory = mmap(nullptr, sizeof(Link), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED)
        throw Failure(ExitCode::Link, std::string("no shared memory: ") + std::strerror(errno));
    link_ = new (memory) Link{};
    link_->version = kLinkVersion;
    link_->cores = cores;
    link_->line_bytes = line_bytes;
    link_->lat_l1 = lat_l1;
    link_->lat_miss = lat_miss;
    link_->turn = Turn::Plugin;
    link_->magic = kLinkMagic;
}

LinkServer::~LinkServer() {
    munmap(link_, sizeof(Link));
    close(descriptor_);
}

void LinkServer::wait_for_turn(Guest &guest) {
    while (link_->turn.load() != Turn::Simulator) {
        syscall(SYS_futex, &link_->turn, FUTEX_WAIT, static_cast<uint32_t>(Turn::Plugin),
                &kPatience, nullptr, 0);
        if (link_->turn.load() == Turn::Simulator)
            return;
        // It may pass the turn and end: only if it has not is its end a failure.
        if (guest.has_ended() && link_->turn.load() != Turn::Simulator)
            throw Failure(ExitCode::Guest, "the guest ended in its turn: " + guest.how());
    }
}

void LinkServer::pass_turn() {
    link_->turn.store(Turn::Plugin);
    syscall(SYS_futex, &link_->turn, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void LinkServer::fail(const std::string &cause) {
    std::strncpy(link_->failure, cause.c_str(), sizeof link_->failure - 1);
    link_->simulator = LinkState::Failed;
    pass_turn();
}

} // namespace lockcross
