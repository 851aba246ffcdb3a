#include "guest.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure.h"

namespace lockcross {
namespace {

constexpr unsigned kCloseOnExec = 4; // of close_range, which older headers lack

struct Prepared {
    std::vector<char *> arguments;
    const char *output;
    const char *errors;
    int shared;
    int report; // takes errno where it cannot be started
};

bool redirect(const char *path, int flags, int descriptor) {
    const int file = open(path, flags, 0666);
    return file >= 0 && dup2(file, descriptor) >= 0;
}

// In the child, which has one thread: system calls only.
[[noreturn]] void become(const Prepared &prepared, pid_t parent) {
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    char *const no_environment[] = {nullptr};
    // The parent may have died before the kernel was told to kill with it.
    if (getppid() == parent && redirect("/dev/null", O_RDONLY, STDIN_FILENO) &&
        redirect(prepared.output, kWrite, STDOUT_FILENO) &&
        redirect(prepared.errors, kWrite, STDERR_FILENO)) {
        syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, kCloseOnExec);
        fcntl(prepared.shared, F_SETFD, 0);
        execve(prepared.arguments[0], prepared.arguments.data(), no_environment);
    }
    const int error = errno;
    (void)!write(prepared.report, &error, sizeof error);
    _exit(127);
}

void name_shared(std::vector<std::string> &command, int shared) {
    const std::string mark = "@FD@";
    for (std::string &word : command)
        if (const size_t at = word.find(mark); at != std::string::npos)
            word.replace(at, mark.size(), std::to_string(shared));
}

} // namespace

void Guest::start(std::vector<std::string> command, int shared, const std::string &output,
                  const std::string &errors) {
    name_shared(command, shared);
    int report[2];
    if (command.empty() || pipe2(report, O_CLOEXEC) != 0)
        throw Failure(ExitCode::Guest, "the guest has no command, or no pipe can be made");
    Prepared prepared{{}, output.c_str(), errors.c_str(), shared, report[1]};
    for (std::string &word : command)
        prepared.arguments.push_back(word.data());
    prepared.arguments.push_back(nullptr);
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0)
        become(prepared, parent);
    int error = process_ < 0 ? errno : 0;
    close(report[1]);
    if (process_ > 0) {
        handle_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
        error = handle_ < 0 ? errno : 0;
        if (int told = 0; read(report[0], &told, sizeof told) == sizeof told)
            error = told;
    }
    close(report[0]);
    if (error != 0) {
        kill();
        throw Failure(ExitCode::Guest, "cannot start " + command[0] + ": " + std::strerror(error));
    }
}

bool Guest::has_ended(int milliseconds) {
    if (process_ < 0)
        return ended_;
    pollfd watched{handle_, POLLIN, 0};
    if (poll(&watched, 1, milliseconds) == 1)
        reap();
    return ended_;
}

void Guest::reap() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR)
        ;
    exit_code_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    if (handle_ >= 0)
        close(handle_);
    process_ = handle_ = -1;
    ended_ = true;
}

void Guest::kill() {
    if (process_ < 0)
        return;
    ::kill(process_, SIGKILL);
    reap();
}

std::string Guest::how() const {
    if (!ended_)
        return "it runs";
    if (exit_code_ < 0)
        return "signal " + std::to_string(-exit_code_);
    return "exit code " + std::to_string(exit_code_);
}

} // namespace lockcross
