#include "plugin/server.h"

#include "base/options.h"
#include "output/failure.h"
#include "plugin/engine.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace lockcross {

namespace {

constexpr int kSocket = STDIN_FILENO;
constexpr size_t kLongestRequest = 65536; // bytes

struct Child {
    pid_t pid;
    int handle; // readable when it has ended; -1 once that is said
};

struct Request {
    std::string folder, cpus;
    std::vector<std::string_view> options, arguments;
};

// Of the server; a child has that of its own request.
std::array<char, kLongestRequest> packet;
Request request;
std::vector<Child> children;
pid_t server;

void say(const std::string &line) {
    if (send(kSocket, line.data(), line.size(), MSG_NOSIGNAL) < 0)
        _exit(0); // whoever asked is gone
}

// The driver has asked for more, so it has a handle of every child that was started, and numbers
// may be used again.
void reap() {
    std::erase_if(children, [](const Child &child) {
        return child.handle < 0 && waitpid(child.pid, nullptr, 0) == child.pid;
    });
}

void say_end(Child &child) {
    siginfo_t info{};
    waitid(P_PID, id_t(child.pid), &info, WEXITED | WNOWAIT);
    int code = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
    close(child.handle);
    child.handle = -1;
    say("ended " + std::to_string(child.pid) + " " + std::to_string(code));
}

// Returns when there is a request, having said which children have ended meanwhile.
void wait_for_request() {
    for (;;) {
        std::vector<pollfd> waited{{kSocket, POLLIN, 0}};
        for (const Child &child : children)
            waited.push_back({child.handle, POLLIN, 0}); // one that is negative is left out
        if (poll(waited.data(), waited.size(), -1) < 0)
            continue; // a signal
        for (size_t i = 0; i < children.size(); i++) {
            if (waited[i + 1].revents)
                say_end(children[i]);
        }
        if (waited[0].revents)
            return;
    }
}

void read_request() {
    ssize_t size = recv(kSocket, packet.data(), packet.size(), 0);
    if (size <= 0)
        _exit(0); // no more
    std::vector<std::string_view> words;
    std::string_view rest(packet.data(), size_t(size));
    for (size_t end; (end = rest.find('\0')) != rest.npos; rest.remove_prefix(end + 1))
        words.push_back(rest.substr(0, end));
    constexpr size_t kFixed = 3;
    size_t options = words.size() < kFixed ? SIZE_MAX : strtoul(words[2].data(), nullptr, 10);
    if (options > words.size() - kFixed)
        fail(Exit::BadOptions, "a request to the server is cut off");
    auto first = words.begin() + kFixed, middle = first + ptrdiff_t(options);
    request = {
        std::string(words[0]), std::string(words[1]), {first, middle}, {middle, words.end()}};
}

// argc, argv, no environment; then the strings. Returns whether they fit.
bool write_arguments(uint64_t place, uint64_t size) {
    std::vector<std::string_view> words{"lockcross"};
    words.insert(words.end(), request.arguments.begin(), request.arguments.end());
    uint64_t end = (words.size() + 3) * sizeof(uint64_t); // of the pointers
    std::vector<uint64_t> pointers{words.size()};
    std::string strings;
    for (std::string_view word : words) {
        pointers.push_back(place + end + strings.size());
        strings += word;
        strings += '\0';
    }
    pointers.insert(pointers.end(), 2, 0);
    if (end + strings.size() > size)
        return false;
    uint8_t *host = reinterpret_cast<uint8_t *>(place + uint64_t(engine.host_offset));
    std::memcpy(host, pointers.data(), end);
    std::memcpy(host + end, strings.data(), strings.size());
    return true;
}

// What is forked then stays there with every thread that it starts.
bool stay_on(std::string list) {
    constexpr int kMost = 1 << 16; // CPUs
    cpu_set_t *cpus = CPU_ALLOC(kMost);
    size_t size = CPU_ALLOC_SIZE(kMost);
    CPU_ZERO_S(size, cpus);
    for (char *cpu = std::strtok(list.data(), ","); cpu; cpu = std::strtok(nullptr, ","))
        CPU_SET_S(std::strtoul(cpu, nullptr, 10), size, cpus);
    bool done = sched_setaffinity(0, size, cpus) == 0;
    CPU_FREE(cpus);
    return done;
}

void open_as(int number, const char *path, int how) {
    int file = open(path, how | O_CLOEXEC, 0666);
    if (file < 0 || dup2(file, number) != number)
        fail(Exit::Failure, std::string(path) + " cannot be opened: " + std::strerror(errno));
    if (file != number)
        close(file);
}

// Becomes what start.c and the command line make of a process that runs one cell.
void become_run() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(0); // it ended before it could take this process with it
    for (const Child &child : children)
        close(child.handle);
    if (chdir(request.folder.c_str()) != 0)
        fail(Exit::Failure, request.folder + " is no folder: " + std::strerror(errno));
    open_as(STDERR_FILENO, "stderr", O_WRONLY | O_CREAT | O_TRUNC);
    open_as(STDOUT_FILENO, "stdout", O_WRONLY | O_CREAT | O_TRUNC);
    open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
    try {
        engine.options = parse_options(request.options);
    } catch (const OptionError &error) {
        fail(Exit::BadOptions, error.what());
    }
}

} // namespace

void serve(uint64_t place, uint64_t size) {
    server = getpid();
    signal(SIGCHLD, SIG_DFL); // else nobody could tell how a child has ended
    for (;;) {
        wait_for_request();
        reap();
        read_request();
        if (write_arguments(place, size) && stay_on(request.cpus))
            return;
        say("refused");
    }
}

void forked(int64_t pid) {
    if (pid == 0)
        return become_run();
    if (pid < 0)
        return say("refused");
    int handle = int(syscall(SYS_pidfd_open, pid, 0));
    if (handle < 0)
        _exit(1); // and the child with it: nobody could wait for it
    children.push_back({pid_t(pid), handle});
    say("started " + std::to_string(pid));
}

} // namespace lockcross
