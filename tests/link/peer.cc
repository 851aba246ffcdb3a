// Plays the plugin on the link to a simulator: a program of requests for each core, each made when
// the core's request before it is answered.
//
//   peer FD script REQUEST...    REQUEST: core,kind,line[,gap]: kind r, w, t or u (touch, touching
//                                write; not waited for), gap cycles after the core's request before
//   peer FD private N            every core reads a line of its own N times
//   peer FD contend N            every core writes line 0 N times
//   peer FD die N | leave N | fail N | sleep N   in its turn number N: gets killed, exits, says
//   that
//                                it failed, never passes the turn; until then as contend
//   peer FD lingering            is done, but does not exit
//   peer FD idle N               asks for nothing until cycle N; 0: for ever
//
// Writes one line an answer in a script: core kind line cycle latency; otherwise the last cycle.
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <linux/futex.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "link/link.h"

using namespace lockcross;

namespace {

struct Wanted {
    RequestKind kind;
    uint64_t line, gap;
    uint64_t times;
};

struct Core {
    std::deque<Wanted> program;
    LinkRequest open{};
    bool waits = false;
};

Link *link_;
std::vector<Core> cores;
bool tell = false;
uint64_t turns = 0, last_cycle = 0;

void post(uint32_t core, uint64_t cycle) {
    std::deque<Wanted> &program = cores[core].program;
    while (!program.empty() && !cores[core].waits) {
        Wanted &next = program.front();
        cycle += next.gap;
        const LinkRequest request{cycle, core, next.line, core, next.kind};
        link_->request[link_->requests++] = request;
        cores[core].waits = !is_touch(request);
        cores[core].open = request;
        if (--next.times == 0)
            program.pop_front();
    }
}

void take_answers() {
    const uint32_t answers = link_->answers;
    link_->requests = 0;
    for (uint32_t n = 0; n < answers; ++n) {
        const LinkAnswer &answer = link_->answer[n];
        Core &core = cores[answer.id];
        if (tell)
            std::printf("%u %c %lu %lu %lu\n", core.open.core, "rwtu"[int(core.open.kind)],
                        core.open.line, core.open.cycle, answer.cycle - core.open.cycle);
        last_cycle = answer.cycle;
        core.waits = false;
        post(core.open.core, answer.cycle);
    }
}

void pass_turn() {
    link_->turn.store(Turn::Simulator);
    syscall(SYS_futex, &link_->turn, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_for_turn() {
    while (link_->turn.load() != Turn::Plugin)
        syscall(SYS_futex, &link_->turn, FUTEX_WAIT, uint32_t(Turn::Simulator), nullptr, nullptr,
                0);
}

// Lets time pass alone.
void idle(uint64_t until) {
    link_->until = until == 0 ? kNoLimit : until;
    pass_turn();
    wait_for_turn();
    last_cycle = link_->now;
}

bool all_done() {
    for (const Core &core : cores)
        if (core.waits || !core.program.empty())
            return false;
    return true;
}

void come_to_grief(const std::string &how) {
    if (how == "die")
        raise(SIGKILL);
    if (how == "leave")
        std::exit(9);
    if (how == "sleep")
        for (;;)
            pause();
    std::strcpy(link_->failure, "the peer was told to fail");
    link_->plugin = LinkState::Failed;
    pass_turn();
    std::exit(1);
}

void read_script(int words, char **word) {
    tell = true;
    for (int n = 0; n < words; ++n) {
        unsigned core = 0;
        char kind = 0;
        unsigned long line = 0, gap = 0;
        std::sscanf(word[n], "%u,%c,%lu,%lu", &core, &kind, &line, &gap);
        const auto which = RequestKind(std::strchr("rwtu", kind) - "rwtu");
        // A core that is not there is what some scripts are about.
        cores[core < cores.size() ? core : 0].program.push_back({which, line, gap, 1});
        if (core >= cores.size())
            link_->request[link_->requests++] = {0, core, line, core, which};
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const std::string mode = argv[2];
    const uint64_t number = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
    link_ = static_cast<Link *>(
        mmap(nullptr, sizeof(Link), PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(argv[1]), 0));
    if (link_ == MAP_FAILED || link_->magic != kLinkMagic || link_->version != kLinkVersion)
        return 2;
    cores.resize(link_->cores);
    if (mode == "script")
        read_script(argc - 3, argv + 3);
    else if (mode != "lingering" && mode != "idle")
        for (uint32_t core = 0; core < cores.size(); ++core)
            cores[core].program.push_back(
                mode == "private"
                    ? Wanted{RequestKind::Read, 1000 + core, 0, number}
                    : Wanted{RequestKind::Write, 0, 0, mode == "contend" ? number : UINT64_MAX});
    wait_for_turn();
    if (mode == "idle")
        idle(number);
    for (uint32_t core = 0; core < cores.size(); ++core)
        post(core, 0);
    while (!all_done()) {
        if (mode != "script" && mode != "private" && mode != "contend" && ++turns > number)
            come_to_grief(mode);
        link_->until = kNoLimit;
        pass_turn();
        wait_for_turn();
        if (link_->simulator == LinkState::Failed)
            return 4;
        take_answers();
    }
    if (!tell)
        std::printf("%lu\n", last_cycle);
    std::fflush(stdout);
    link_->plugin = LinkState::Done;
    pass_turn();
    if (mode == "lingering")
        for (;;)
            pause();
    return 0;
}
