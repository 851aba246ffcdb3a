// The element of SST without SST: a session with a memory that answers everything after a while.
//
//   memory CORES LINES OLDEST LATENCY GUEST...   LATENCY 0: it never answers
//
// Exits as SST does; says the cause on standard error, requests, touches and turns on standard
// output.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <utility>

#include "session.h"

using namespace lockcross;

namespace {

struct Answer {
    uint64_t cycle;
    Request request;

    bool operator<(const Answer &other) const { // a queue's top is its greatest
        return std::pair(other.cycle, other.request.number) < std::pair(cycle, request.number);
    }
};

// Until the guest is done.
void simulate(Session &session, uint64_t latency) {
    std::priority_queue<Answer> answers;
    for (uint64_t cycle = 0;;) {
        for (; !answers.empty() && answers.top().cycle == cycle; answers.pop())
            session.answer(answers.top().request, cycle);
        for (;;) {
            for (const Request &request : session.due(cycle))
                if (latency > 0)
                    answers.push({cycle + latency, request});
            if (!session.must_exchange(cycle))
                break;
            if (!session.exchange(cycle))
                return;
        }
        const uint64_t step = answers.empty() ? kNoLimit : answers.top().cycle;
        cycle = std::min({step, session.next_step(), session.check_age(cycle)});
        if (cycle == kNoLimit)
            throw Failure(ExitCode::Deadlock, "nothing to do");
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 6)
        return 2;
    SessionOptions options;
    options.cores = static_cast<uint32_t>(std::atoi(argv[1]));
    options.line_bytes = 64;
    options.lat_l1 = 2;
    options.lat_miss = 2;
    options.lines = std::strtoull(argv[2], nullptr, 10);
    options.oldest_request = std::strtoull(argv[3], nullptr, 10);
    options.guest.assign(argv + 5, argv + argc);
    options.guest_output = "guest.out";
    options.guest_errors = "guest.err";
    Session session(options);
    try {
        session.start();
        simulate(session, std::strtoull(argv[4], nullptr, 10));
    } catch (const Failure &failure) {
        session.fail(failure.what());
        std::fprintf(stderr, "%s\n", failure.what());
        return static_cast<int>(failure.code);
    }
    std::printf("%lu %lu %lu\n", session.requests(), session.touches(), session.turns());
}
