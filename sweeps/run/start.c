/* Starts a program: what the driver would have to do between fork and exec, which in a process as
 * large as Python costs more than many a run.
 *
 *   start PARENT CPU[,CPU...] BYTES COMMAND [ARGUMENT...]
 *
 * The program dies with its parent, stays on the CPUs, and writes no core and no file longer than
 * BYTES. A "-" leaves CPUs or BYTES as they are. Where it leads a group of processes, all of them
 * end with it and with the parent: what it has started would outlive a parent that is killed. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_OF_COMMAND = 4, CANNOT_START = 126, PARENT_IS_GONE = 127 };

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    _exit(CANNOT_START);
}

static int is_given(const char *word) { return strcmp(word, "-") != 0; }

static void stay_on(char *list) {
    cpu_set_t *cpus = CPU_ALLOC(1 << 16);
    size_t size = CPU_ALLOC_SIZE(1 << 16);
    CPU_ZERO_S(size, cpus);
    for (char *cpu = strtok(list, ","); cpu; cpu = strtok(NULL, ","))
        CPU_SET_S(strtoul(cpu, NULL, 10), size, cpus);
    if (sched_setaffinity(0, size, cpus) != 0)
        fail("the run cannot be bound to its CPU");
}

static void limit(int resource, rlim_t most) {
    struct rlimit both = {most, most};
    if (setrlimit(resource, &both) != 0)
        fail("the run's files cannot be limited");
}

/* Leaves a process in this one's group that waits until this one or its parent has ended, and then
 * ends the group, itself with it. It is a child of init, so the program has none that it did not
 * start. A kernel before 5.3 has no handles of processes: there the group is left alone. */
static void guard_group(pid_t parent) {
    struct pollfd ends[2] = {{(int)syscall(SYS_pidfd_open, parent, 0), POLLIN, 0},
                             {(int)syscall(SYS_pidfd_open, getpid(), 0), POLLIN, 0}};
    if (ends[0].fd < 0 || ends[1].fd < 0)
        return;
    pid_t between = fork();
    if (between == 0) {
        if (fork() != 0)
            _exit(0);
        sigset_t all;
        sigfillset(&all); /* what is sent to the group is for the program */
        sigprocmask(SIG_BLOCK, &all, NULL);
        for (int stream = 0; stream <= 2; stream++)
            close(stream); /* whoever reads them waits for their end */
        poll(ends, 2, -1);
        kill(0, SIGKILL);
    }
    close(ends[0].fd);
    close(ends[1].fd);
    if (between > 0)
        waitpid(between, NULL, 0);
}

int main(int count, char **words) {
    if (count <= FIRST_OF_COMMAND) {
        fputs("usage: start PARENT CPU[,CPU...] BYTES COMMAND [ARGUMENT...]\n", stderr);
        return CANNOT_START;
    }
    pid_t parent = (pid_t)strtol(words[1], NULL, 10);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return PARENT_IS_GONE; /* it died before it could take this process with it */
    if (getpgrp() == getpid())
        guard_group(parent);
    if (is_given(words[2]))
        stay_on(words[2]);
    if (is_given(words[3]))
        limit(RLIMIT_FSIZE, strtoul(words[3], NULL, 10));
    limit(RLIMIT_CORE, 0);
    execv(words[FIRST_OF_COMMAND], words + FIRST_OF_COMMAND);
    fail(words[FIRST_OF_COMMAND]);
}
